import Foundation
import Logging
import PushStore

extension Logger {
    /// Logs an event of the store: one line for each fault. After the event `broken` the process
    /// ends.
    func log(_ event: StoreEvent) {
        switch event {
        case .broken(let reason, let needsOperator):
            self.critical(
                "storage failed; exiting, because later writes would not be safe",
                metadata: ["reason": "\(reason)"]
            )
            // systemd does not restart the server after 78: a start could harm what was saved.
            exit(needsOperator ? 78 : 1)
        case .fileDamaged(let reason):
            self.error(
                "database file damaged; stop the server and restore an intact backup",
                metadata: ["reason": "\(reason)"]
            )
        case .diskFull: self.error("disk full; writes that need more space are refused until space is freed")
        case .roomAgain: self.info("disk has space again; writes are accepted")
        case .notWiped(let reason):
            self.error(
                "page wiping failed; erased data may remain in the database file",
                metadata: ["reason": "\(reason)"]
            )
        case .keyMissing(let number):
            self.error(
                """
                data key missing; another server encrypts with it, and pushes wait here: copy that server's keyring to this one \
                and run sealpost keys reload
                """,
                metadata: ["key": "\(number)"]
            )
        case .keyWaits(let wait):
            self.warning(
                """
                data key not in use yet, because other servers lack it; copy this keyring to them and run sealpost keys reload there
                """,
                metadata: [
                    "key": "\(wait.number)", "lackedBy": "\(wait.lacking.joined(separator: ", "))",
                    "seals": "\(wait.sealing)",
                ]
            )
        case .keySeals(let number):
            self.info("data key in use; all servers have it", metadata: ["key": "\(number)"])
        case .outWithoutKey(let reason):
            self.error(
                """
                server out of service, because its keyring lacks a data key in use; copy another server's keyring to this one and run \
                sealpost keys reload
                """,
                metadata: ["reason": "\(reason)"]
            )
        case .setAside(let row):
            self.error("damaged row skipped", metadata: ["row": "\(row)"])
        case .receiptsDropped(let count):
            self.error("receipts dropped; the receipt queue is full", metadata: ["sinceStart": "\(count)"])
        case .checkpointFailed(let reason):
            self.error("checkpoint failed; the write-ahead log grows", metadata: ["reason": "\(reason)"])
        case .logIsLong(let bytes):
            self.warning(
                "write-ahead log is long; a long read, such as a report or a backup, keeps it from being truncated",
                metadata: ["bytes": "\(bytes)"]
            )
        case .spaceGivenBack(let bytes): self.info("database file shortened", metadata: ["bytes": "\(bytes)"])
        case .spaceNotGivenBack(let reason):
            self.error(
                "database file not shortened; its free space stays in the file and is reused",
                metadata: ["reason": "\(reason)"]
            )
        case .fileStaysLong:
            self.info("database file never shrinks; sealpost backup and sealpost restore make one that does")
        case .databaseRefused(let reason):
            self.error(
                """
                database refused, because acknowledged notifications may be missing in it; bring the newest primary back, \
                or accept the loss: remove the timeline file on all servers and restart them
                """,
                metadata: ["reason": "\(reason)"]
            )
        case .databaseTrusted: self.info("database accepted; the newest primary is in use again")
        case .databaseUnusable(let reason, let count):
            let fields: Logger.Metadata = ["failures": "\(count)", "reason": "\(reason)"]
            self.error("database cannot be used until an operator acts", metadata: fields)
        case .databaseUnavailable(let reason, let count):
            self.error("database unavailable", metadata: ["failures": "\(count)", "reason": "\(reason)"])
        case .databaseUsable(let count): self.notice("database can be used again", metadata: ["failures": "\(count)"])
        case .markNotKept(let reason):
            self.error(
                "timeline file not written; after a restart this server would accept an older database",
                metadata: ["reason": "\(reason)"]
            )
        }
    }
}

extension Store {
    /// Short reasons why the store refuses writes, for `/readyz`; the log has the details.
    var troubles: [String] {
        if let refusal = self.refusal { return [refusal] }
        if self.failure != nil { return [self.cluster != nil ? "PostgreSQL does not answer" : "storage failed"] }
        return self.isFull ? ["the disk is full"] : []
    }
}

import Foundation
import Logging
import PushStore

extension Logger {
    /// What the store tells its operator: one line for each trouble. After `broken` the process ends.
    func log(_ event: StoreEvent) {
        switch event {
        case .broken(let reason):
            self.critical(
                "storage failed; the process ends at once, because nothing that it would store is safe",
                metadata: ["reason": "\(reason)"]
            )
            exit(1)
        case .diskFull: self.error("disk full, nothing is stored until there is room")
        case .roomAgain: self.info("disk has room again")
        case .notWiped(let reason): self.error("what was erased may stay in pages", metadata: ["reason": "\(reason)"])
        case .setAside(let row):
            self.error("a damaged row was set aside; the others go on", metadata: ["row": "\(row)"])
        case .receiptsDropped(let count):
            self.error("receipts dropped, because too many waited to be written", metadata: ["sinceStart": "\(count)"])
        case .checkpointFailed(let reason):
            self.error("checkpoint failed; the write-ahead log grows", metadata: ["reason": "\(reason)"])
        case .logIsLong(let bytes):
            self.warning(
                "write-ahead log is long, because something reads the database without an end",
                metadata: ["bytes": "\(bytes)"]
            )
        }
    }
}

extension Store {
    /// Why nothing can be stored, for those who ask whether the server is ready.
    var troubles: [String] {
        if let failure { return ["storage failed: \(failure)"] }
        return self.isFull ? ["the disk is full"] : []
    }
}

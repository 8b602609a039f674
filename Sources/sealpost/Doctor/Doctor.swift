import Foundation
import Glibc
import HTTPSignatures
import Logging
import PushCore
import PushServer
import PushStore
import Reactor

/// Looks at everything a start needs, and changes nothing: also while the server runs.
struct Doctor: Sendable {
    /// From so long before its end on, a credential is worth a warning.
    static let noticePeriod: TimeInterval = 30 * 86_400
    /// Below this much room on the disk the server may stop at any time.
    static let leastSpace: UInt64 = 100 << 20
    static let comfortableSpace: UInt64 = 1 << 30
    /// No clock that is right shows a time before this program was written.
    private static let programDate = Date(timeIntervalSince1970: 1_767_225_600)

    let configuration: Configuration
    var now = Date()

    /// All checks, in the order in which they should be mended; those of the network only if asked for.
    func examine(online: Bool) async throws -> [Finding] {
        var findings = [self.clock, self.disk, self.keyring, self.signingKeys, self.database] + self.certificates
        let loop = try EventLoop(index: 0)
        defer { loop.stop() }
        for (name, sender) in self.configuration.senders.sorted(by: { $0.key.description < $1.key.description }) {
            findings += await self.credentials(of: sender, name: name, on: loop)
            if online { findings += await sender.reachability(name: name, on: loop) }
        }
        return findings
    }

    /// Whether there is time left; a credential that has ended is a failure.
    func judge(_ expiry: CredentialExpiry) -> Finding {
        let left = expiry.expiresAt.timeIntervalSince(self.now)
        let day = expiry.expiresAt.formatted(.iso8601.year().month().day())
        if left <= 0 { return Finding(.fail, expiry.name, "expired on \(day)") }
        let days = Int(left / 86_400)
        return Finding(left < Self.noticePeriod ? .warn : .ok, expiry.name, "valid until \(day), \(days) days")
    }

    // MARK: - Private

    /// A clock that is wrong has APNs and Google refuse every token. The database's file is a witness: it was not written
    /// in the future.
    private var clock: Finding {
        if self.now < Self.programDate {
            return Finding(.fail, "clock", "is wrong: it shows \(self.now.ISO8601Format())")
        }
        for file in [self.configuration.database, self.configuration.database + "-wal"] {
            // Without the file there is nothing to compare with.
            let attributes = try? FileManager.default.attributesOfItem(atPath: file)
            guard let written = attributes?[.modificationDate] as? Date else { continue }
            if written > self.now + 60 {
                return Finding(.fail, "clock", "is behind: \(file) was written at \(written.ISO8601Format())")
            }
        }
        return Finding(.ok, "clock", self.now.ISO8601Format())
    }

    private var disk: Finding {
        let folder = URL(fileURLWithPath: self.configuration.database).deletingLastPathComponent().path
        var status = statvfs()
        guard statvfs(FileManager.default.fileExists(atPath: folder) ? folder : ".", &status) == 0 else {
            return Finding(.fail, "disk", "\(folder) cannot be inspected: \(String(cString: strerror(errno)))")
        }
        let free = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize)).partialValue
        let grade: Finding.Grade = free < Self.leastSpace ? .fail : free < Self.comfortableSpace ? .warn : .ok
        return Finding(grade, "disk", "\(free >> 20) MiB are free in \(folder)")
    }

    private var keyring: Finding {
        let (path, database) = (self.configuration.keyring, self.configuration.database)
        if !FileManager.default.fileExists(atPath: path), !FileManager.default.fileExists(atPath: database) {
            return Finding(.warn, "keyring", "\(path) does not exist; the first start creates it")
        }
        do {
            let keyring = try KeyringFile(path).loadOrCreate(beside: database)
            // A database that cannot be read is the next check's.
            let keys = (try? DataKeyEntry.all(inDatabase: database)) ?? []
            try keys.check(keyring)
            if let key = keys.first(where: { $0.seals >= Keyring.maximumSeals / 2 }), key.number == keyring.sealing {
                return Finding(
                    .warn,
                    "keyring",
                    "key \(key.number) has encrypted \(key.seals) values; run sealpost keys rotate"
                )
            }
            return Finding(.ok, "keyring", "\(path) can be used")
        } catch {
            return Finding(.fail, "keyring", "\(error)")
        }
    }

    private var signingKeys: Finding {
        let path = self.configuration.signingKeys
        guard FileManager.default.fileExists(atPath: path) else {
            return Finding(.warn, "signing.keys", "\(path) does not exist; the next start creates it")
        }
        do {
            let first = try SigningKeyFile(path).load().keys[0].key
            return Finding(.ok, "signing.keys", "\(path) can be used; \(first.id) signs")
        } catch {
            return Finding(.fail, "signing.keys", "\(error)")
        }
    }

    private var database: Finding {
        let path = self.configuration.database
        guard FileManager.default.fileExists(atPath: path) else {
            return Finding(.warn, "database", "\(path) does not exist; the first start creates it")
        }
        do throws(StoreError) {
            let inspection = try DatabaseInspection(path: path)
            if let line = inspection.damage.first { return Finding(.fail, "database", "\(path) is damaged: \(line)") }
            if let name = inspection.unknownMigration {
                return Finding(.fail, "database", "\(path) was written by a newer version with the migration \(name)")
            }
            if let name = inspection.changedMigration {
                return Finding(.fail, "database", "\(path) was written with a different migration \(name)")
            }
            if let name = inspection.missingMigrations.first {
                return Finding(.warn, "database", "\(path) needs the migration \(name); the next start applies it")
            }
            return Finding(.ok, "database", "\(path) is intact and up to date")
        } catch {
            return Finding(.fail, "database", "\(error)")
        }
    }

    private var certificates: [Finding] {
        guard let tls = self.configuration.tls else { return [] }
        do {
            // What would be a warning in the log is a finding here.
            let silent = Logger(label: "doctor") { _ in SwiftLogNoOpLogHandler() }
            return try TLSSetup.inspect(tls, logger: silent).map(self.judge)
        } catch {
            return [Finding(.fail, "server.tls", "\(error)")]
        }
    }

    private func credentials(of sender: SenderConfiguration, name: Platform, on loop: EventLoop) async -> [Finding] {
        do {
            let setup = try SenderSetup(sender, name: name, on: loop, streams: StreamHub())
            await setup.close()
            let finding = Finding(.ok, "senders.\(name)", "the credentials can be used")
            return [finding] + (setup.expiry.map { [self.judge($0)] } ?? [])
        } catch {
            return [Finding(.fail, "senders.\(name)", "\(error)")]
        }
    }
}

import Foundation
import Glibc
import Logging
import PushAPI
import PushCore
import PushSQLite
import PushServer
import PushStore
import Reactor
import Synchronization

extension ApplicationParts {
    /// This daemon runs these functions for commands that read or change the server's files.
    var localFiles: LocalFiles {
        let keyring = LocalKeyring(configuration: self.configuration)
        return LocalFiles(
            listKeys: {
                await self.answer {
                    // If the disk is full, the list shows earlier counts of encryptions.
                    try? await self.store.writeSealCounts()
                    return try await onThread { try keyring.list() }
                }
            },
            rotateKeys: { actor in
                await self.answer { try await self.change(.rotateKeys, for: actor) { try keyring.rotate() } }
            },
            removeKey: { number, actor in
                await self.answer { try await self.change(.removeKey, for: actor) { try keyring.remove(number) } }
            },
            backUp: { file, actor in
                let samples = CopySamples()
                return LocalBackup(progress: { samples.current }) {
                    await self.answer { try await self.backUp(to: file, for: actor, samples) }
                }
            }
        )
    }

    /// Writes the copy of the database as this process's user. Returns the file and its inode
    /// number: the command compares the number to check that it sees the same file.
    private func backUp(
        to file: String,
        for actor: AuditRecord.Actor,
        _ samples: CopySamples
    ) async throws -> JSONValue {
        let database = try self.configuration.databaseFile(insteadUse: "pg_dump or pg_basebackup")
        guard !FileManager.default.fileExists(atPath: file) else {
            throw StoreError.cannotOpen(place: file, reason: "the file already exists")
        }
        try self.checkFolder(of: file, else: "choose another folder, let the server write there, or copy with --direct")
        guard self.copies.begin() else {
            throw CommandFailure("another backup is being written; try again when it is done")
        }
        defer { self.copies.end() }
        let copy = RunningCopy()
        let keyring = try KeyringFile(self.configuration.keyring).load()
        do {
            try await withTaskCancellationHandler {
                try await onThread {
                    try database.backUp(to: file, keyring: keyring, as: copy, begins: samples.begin)
                }
            } onCancel: {
                copy.interrupt()
            }
        } catch {
            guard Task.isCancelled else { throw error }
            throw CommandFailure(
                "the server stopped and deleted the unfinished copy; repeat the backup when it is running again"
            )
        }
        self.logger.info("backup written", metadata: ["file": "\(file)"])
        do {
            try await self.store.record(AuditRecord(.backUp, of: file, by: actor, at: self.clock.now()))
        } catch {
            throw CommandFailure("the backup \(file) is written, but the audit has no entry of it: \(error)")
        }
        var status = stat()
        guard stat(file, &status) == 0 else { throw CommandFailure("\(file): \(String(cString: strerror(errno)))") }
        return .object([.init("File", .string(file)), .init("Inode", .number(UInt64(status.st_ino)))])
    }

    /// Throws a `CommandFailure` that ends with `remedy` if this process may not write to the
    /// folder of `file`.
    private func checkFolder(of file: String, else remedy: String) throws(CommandFailure) {
        let folder = URL(fileURLWithPath: file).deletingLastPathComponent().path
        guard access(folder, W_OK | X_OK) == 0 else {
            let (reason, user) = (String(cString: strerror(errno)), LocalUser.name(of: geteuid()))
            throw CommandFailure("the server, as the user \(user), cannot write to \(folder): \(reason); \(remedy)")
        }
    }

    /// Changes the keyring's file first and then adds the record to the audit. So a failed change
    /// leaves no record.
    private func change(
        _ action: AuditRecord.Action,
        for actor: AuditRecord.Actor,
        _ work: @escaping @Sendable () throws -> JSONValue
    ) async throws -> JSONValue {
        let remedy = "let the server write there, or change the keyring with --direct, as root or as the folder's owner"
        try self.checkFolder(of: self.configuration.keyring, else: remedy)
        let changed = try await onThread(work)
        let subject = "key \(changed["Key"]?.integer ?? 0)"
        self.logger.info("keyring file changed", metadata: ["action": "\(action.rawValue)", "key": "\(subject)"])
        do {
            try await self.store.record(AuditRecord(action, of: subject, by: actor, at: self.clock.now()))
        } catch {
            throw CommandFailure("the keyring is changed (\(subject)), but the audit has no entry of it: \(error)")
        }
        return changed
    }

    /// The result of `work`, or its error in the form that the command reports.
    private func answer(_ work: () async throws -> JSONValue) async -> JSONValue {
        do {
            return try await work()
        } catch {
            if let problem = CommandProblem(error) { return problem.answer }
            self.logger.error("local command failed", metadata: ["error": "\(error)"])
            return CommandProblem(failure: "the server failed; see its log").answer
        }
    }
}

/// Runs blocking work on a new thread.
func onThread<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        detachThread { continuation.resume(with: Result { try work() }) }
    }
}

/// Whether a copy of the database is being written. Only one copy may be written at a time.
final class CopyMark: Sendable {
    private let isSet = Atomic(false)

    /// Begins a copy; returns `false` if another copy is being written.
    func begin() -> Bool { !self.isSet.exchange(true, ordering: .relaxed) }

    func end() { self.isSet.store(false, ordering: .relaxed) }
}

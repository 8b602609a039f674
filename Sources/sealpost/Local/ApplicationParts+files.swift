import Foundation
import PushAPI
import PushCore
import PushServer

extension ApplicationParts {
    /// What commands have this daemon do with its files.
    var localFiles: LocalFiles {
        let keyring = LocalKeyring(configuration: self.configuration)
        return LocalFiles(
            listKeys: { await self.answer { try await onThread { try keyring.list() } } },
            rotateKeys: { actor in
                await self.answer { try await self.change(.rotateKeys, for: actor) { try keyring.rotate() } }
            },
            removeKey: { number, actor in
                await self.answer { try await self.change(.removeKey, for: actor) { try keyring.remove(number) } }
            }
        )
    }

    /// Changes the keyring's file, and then notes it: an entry is never about what was not done.
    private func change(
        _ action: AuditRecord.Action,
        for actor: AuditRecord.Actor,
        _ work: @escaping @Sendable () throws -> JSONValue
    ) async throws -> JSONValue {
        let changed = try await onThread(work)
        let subject = "key \(changed["Key"]?.integer ?? 0)"
        self.logger.info("keyring file changed", metadata: ["action": "\(action.rawValue)", "key": "\(subject)"])
        do {
            try await self.store.note(AuditRecord(action, of: subject, by: actor, at: Date()))
        } catch {
            throw CommandFailure("the keyring is changed (\(subject)), but the audit has no entry of it: \(error)")
        }
        return changed
    }

    /// The result of work, or the error as the command that asked reports it.
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

/// Runs work that blocks on a thread of its own.
func onThread<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try work() }) }
    }
}

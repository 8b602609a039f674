internal import Foundation
internal import PushAPI

/// The tasks that wait for the server. They exist only in files: if a task cannot be written, the
/// outbox refuses it.
extension InboxKeeper {
    func tasks() throws -> [OutboxTask] { try self.readFiles().outbox }

    func failures() throws -> [Outbox.Failure] { try self.readFiles().failures }

    func enqueue(_ task: OutboxTask, payload: Data? = nil) throws {
        let isTaken = try self.changeOutbox { $0.enqueue(task, payload: payload) }
        guard isTaken else { throw PushClientError.outboxFull }
    }

    /// Records that the client is about to send the task; from then on, the server may have
    /// received it.
    func tried(_ key: UUID, now: Date) throws {
        try self.changeOutbox { draft in
            for place in draft.index.outbox.indices where draft.index.outbox[place].key == key {
                draft.index.outbox[place].triedAt = draft.index.outbox[place].triedAt ?? now
            }
        }
    }

    func finish(_ keys: Set<UUID>) throws {
        try self.changeOutbox { $0.index.finish(keys) }
    }

    func fail(_ keys: Set<UUID>, _ code: String?, isFinal: Bool = true) throws {
        try self.changeOutbox { $0.index.fail(keys, code, isFinal: isFinal) }
    }

    func discard(_ failure: Outbox.Failure) throws {
        try self.changeOutbox { draft in
            draft.index.failures.removeAll { $0 == failure }
            draft.index.finish([failure.key])
        }
    }

    /// The payload of a task; `nil` if another process has finished the task, or its file is
    /// damaged.
    func payload(of task: OutboxTask) throws -> JSONValue? {
        guard let name = task.payload,
            let bytes = try PushClientError.storing({
                try self.account.files.readEntry(name, in: self.account.folder)
            })
        else { return nil }
        // A payload that is not JSON is damaged.
        return try? JSONValue(reading: bytes)
    }

    private func readFiles() throws -> AccountIndex {
        self.ownPart(of: try PushClientError.storing { try self.account.read(self.account.files) }).index
    }

    private func changeOutbox<Result>(_ change: (inout AccountDraft) -> Result) throws -> Result {
        defer { self.ring() }
        return try PushClientError.storing { try self.account.changeFiles(change) }
    }
}

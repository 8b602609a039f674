public import Foundation
public import PushAPI

/// What the user did without waiting for the network: kept, shown as done, and told to the server
/// later, in its order.
///
/// ``PushClient/refresh()`` tells it before it collects, and ``flush()`` without collecting. Each
/// task has a key that stays the same however often it is tried, by whichever process and across
/// crashes, so that the server does nothing twice. It is kept as the inbox is: sealed, without a
/// lock, and gone after ``PushClient/signOut()``.
///
/// ```swift
/// try await client.outbox.dismiss(id)
/// try await client.outbox.send("Yes, I am coming.")
/// show(try await client.kept())  // without it
/// ```
public struct Outbox: Sendable {
    let client: PushClient

    /// A task that the server will not carry out, or of which nobody knows whether it has.
    public struct Failure: Sendable, Hashable {
        /// What ``Outbox/send(_:)-(String)`` has returned.
        public let key: UUID
        /// The notification that was to be marked or dismissed; `nil` for one that was to be sent.
        public let notification: Int64?
        /// The code of the server's refusal, such as `payload-too-large`; `nil` if it was sent
        /// more than 23 hours ago without an answer, after which the server may not know its key
        /// any more, or if its file is damaged.
        public let code: String?
    }

    // MARK: - Tasks

    /// Marks a notification as read or unread.
    ///
    /// This and the other tasks are taken once the call returns. It throws
    /// ``PushClientError/outboxFull`` where 200 tasks or 4 MiB wait, and the file system's error
    /// where nothing can be written.
    public func markRead(_ id: Int64, _ isRead: Bool = true) async throws {
        try await self.client.inbox.enqueue(OutboxTask(isRead ? .read : .unread, id: id))
    }

    /// Dismisses a notification on all of the user's devices.
    public func dismiss(_ id: Int64) async throws {
        try await self.client.inbox.enqueue(OutboxTask(.dismiss, id: id))
    }

    /// Sends a text to the caller's own devices; returns the task's key, which a ``Failure`` would
    /// have.
    @discardableResult
    public func send(_ payload: String) async throws -> UUID { try await self.send(.string(payload)) }

    /// The same with any JSON value.
    @discardableResult
    public func send(_ payload: JSONValue) async throws -> UUID {
        let bytes = Data(payload.bytes)
        let task = OutboxTask(.send, bytes: bytes.count)
        try await self.client.inbox.enqueue(task, payload: bytes)
        return task.key
    }

    /// How many tasks wait.
    public var count: Int { get async throws { try await self.client.inbox.tasks().count } }

    /// The tasks that were given up, the oldest first: at most 100, until the app forgets them.
    public var failures: [Failure] { get async throws { try await self.client.inbox.failures() } }

    /// Forgets a failed task, of which the user knows.
    public func forget(_ failure: Failure) async throws {
        try await self.client.inbox.forget(failure)
    }
}

extension PushClient {
    /// What waits to be told to the server.
    public var outbox: Outbox { Outbox(client: self) }
}

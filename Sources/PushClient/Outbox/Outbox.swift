public import Foundation
public import PushAPI

/// Tasks, such as a dismissal, that the user can finish without a network. The client stores each
/// task immediately, and shows the inbox as if the task were done. It sends the tasks to the
/// server later, in the order in which the app added them.
///
/// ``PushClient/sync(limit:)`` sends the tasks before it fetches changes; ``flush()`` sends them
/// and fetches nothing. All attempts of a task have the same idempotency key, in every process and
/// after crashes, so the server carries out each task only once. The outbox is stored like the
/// inbox: encrypted, without a lock, and removed by ``PushClient/signOut()``.
///
/// ```swift
/// try await client.outbox.dismiss(id)
/// try await client.outbox.send("Yes, I am coming.")
/// show(try await client.cachedInbox())  // without the dismissed notification
/// ```
public struct Outbox: Sendable {
    let client: PushClient

    /// A task that the server or a proxy refuses, or whose outcome is unknown.
    public struct Failure: Sendable, Hashable {
        /// The key that ``Outbox/send(_:)-(String)`` returned.
        public let key: UUID
        /// The id of the notification to mark or dismiss; `nil` if the task was to send one.
        public let notification: Int64?
        /// The code of the server's refusal, such as `payload-too-large`. `nil` if the client
        /// first sent the task more than 23 hours ago and got no answer: the server may have
        /// forgotten the task's key. Also `nil` if the task's file is damaged.
        ///
        /// A message that is too large for a proxy in front of the server has the code
        /// `payload-too-large`, too. It still waits until the app discards it, for at most 23
        /// hours, because the server has not signed the proxy's refusal.
        public let code: String?
    }

    // MARK: - Tasks

    /// Marks a notification as read or unread.
    ///
    /// When the call returns, the task is stored. The call throws ``PushClientError/outboxFull``
    /// if 200 tasks or 4 MiB wait, ``PushClientError/storage(_:)`` if the task cannot be written,
    /// and ``PushClientError/signedOut`` if nobody is signed in. It needs the server only if the
    /// client does not know whose data the store has:
    /// ``PushClient/Credentials/token(_:account:id:)``.
    public func markRead(_ id: Int64, _ isRead: Bool = true) async throws {
        try await self.add(OutboxTask(isRead ? .read : .unread, id: id))
    }

    /// Dismisses a notification on all of the user's devices.
    public func dismiss(_ id: Int64) async throws {
        try await self.add(OutboxTask(.dismiss, id: id))
    }

    /// Sends a text to the caller's own devices; returns the task's key, which also identifies its
    /// ``Failure``.
    @discardableResult
    public func send(_ payload: String) async throws -> UUID { try await self.send(.string(payload)) }

    /// Sends any JSON value except null, such as an object, as ``send(_:)-(String)`` sends a text.
    /// The server refuses null, which becomes a ``Failure``.
    @discardableResult
    public func send(_ payload: JSONValue) async throws -> UUID {
        let bytes = Data(payload.bytes)
        let task = OutboxTask(.send, bytes: bytes.count)
        try await self.add(task, payload: bytes)
        return task.key
    }

    /// The number of waiting tasks. Throws ``PushClientError/signedOut`` if nobody is signed in,
    /// as ``failures`` and ``discard(_:)`` do.
    public var count: Int {
        get async throws {
            try self.client.checkSignedIn()
            return try await self.client.inbox.tasks().count
        }
    }

    /// The tasks that the client gave up, the oldest first: the last 100 that the app has not
    /// discarded.
    public var failures: [Failure] {
        get async throws {
            try self.client.checkSignedIn()
            return try await self.client.inbox.failures()
        }
    }

    /// Removes a failed task from ``failures``, and from the tasks that wait. Call this after the
    /// app has told the user.
    public func discard(_ failure: Failure) async throws {
        try self.client.checkSignedIn()
        try await self.client.inbox.discard(failure)
    }

    private func add(_ task: OutboxTask, payload: Data? = nil) async throws {
        // The next account would send a task that was stored while nobody was signed in.
        try await self.client.api.checkOwner()
        try await self.client.inbox.enqueue(task, payload: payload)
    }
}

extension PushClient {
    /// The tasks that wait for the server.
    public var outbox: Outbox { Outbox(client: self) }
}

public import Foundation
public import PushAPI

extension PushClient {
    /// Fetches a notification by the `secureId` of its push.
    ///
    /// For a cached notification the request is conditional, and the result is `fresh` if the
    /// server says that it is unchanged. If the server cannot be reached, the result is `cached`.
    /// If the server says that the notification is gone, the client deletes it from the cache and
    /// throws.
    ///
    /// The client does not cache a read-once payload (its `isReadOnce` is true). The server
    /// returns it again for one minute only, in case an answer is lost. Show or store it, then
    /// call ``confirmTaken(_:)``.
    public func notification(_ id: Int64) async throws -> Fetched<NotificationItem> {
        let task = try await self.inbox.read().index.pending[id]
        return try await self.fetch(id).map { $0.after(task) }
    }

    private func fetch(_ id: Int64) async throws -> Fetched<NotificationItem> {
        let (before, now) = (try await self.inbox.read(), self.now())
        let cached = try await self.inbox.item(id, now: now)?.cached
        do {
            var request = APIRequest("GET", Paths.notification(id))
            request.query = self.keyQuery
            request.tag = cached?.tag
            let answer = try await self.api.call(request)
            if answer.status == 304, let cached {
                if let name = before.index.name(of: id) { await self.inbox.confirm(name, now) }
                return .fresh(cached.item)
            }
            return .fresh(try await self.take(answer, id, requestedAt: before.commit, now: now))
        } catch PushClientError.problem(let problem) where [404, 410].contains(problem.status) {
            try await self.inbox.remove([id])
            throw PushClientError.problem(problem)
        } catch {
            guard let failure = FetchFailure(error), let (cached, date) = try await self.inbox.item(id, now: now) else {
                throw error
            }
            return .cached(cached.item, date, because: failure)
        }
    }

    /// Confirms to the server that a read-once payload has arrived, so that the server erases it
    /// at once.
    ///
    /// Call this once the payload is shown or stored. Without the call, the server erases the
    /// payload a minute after the first fetch. There is no need to retry later if the call throws
    /// because the server cannot be reached. A second confirmation does nothing. For a
    /// notification without such a payload, or one that was not fetched, it throws
    /// ``PushClientError/problem(_:)`` with the code `nothing-to-confirm`.
    public func confirmTaken(_ id: Int64) async throws {
        do {
            _ = try await self.api.call(APIRequest("POST", Paths.taken(id)))
        } catch PushClientError.problem(let problem) where [404, 410].contains(problem.status) {
            // The notification is already gone.
        }
        try await self.inbox.remove([id])
    }

    /// Marks a notification as read or unread, and returns it.
    @discardableResult
    public func markRead(_ id: Int64, _ isRead: Bool = true) async throws -> NotificationItem {
        let (before, now) = (try await self.inbox.read().commit, self.now())
        var request = APIRequest("PATCH", Paths.notification(id))
        request.query = self.keyQuery
        request.body = .object([.init("Read", .bool(isRead))])
        let answer = try await self.api.call(request)
        return try await self.take(answer, id, requestedAt: before, now: now)
    }

    /// Marks up to 500 notifications as read in one request, and returns the ids that are read
    /// now.
    ///
    /// The result leaves out ids of other users' notifications and of deleted ones. With more than
    /// 500 ids the server marks none, and the call throws ``PushClientError/problem(_:)`` with the
    /// code `invalid-member`: call it for 500 at a time. Without any ids, the client sends
    /// nothing.
    @discardableResult
    public func markRead(_ ids: [Int64]) async throws -> [Int64] {
        if ids.isEmpty { return [] }
        let before = try await self.inbox.read().commit
        var request = APIRequest("POST", Paths.readNotifications)
        request.body = .object([.init("Ids", .array(ids.map { .number($0) }))])
        let answer = try await self.api.call(request)
        guard case .array(let elements)? = answer.json?["Read"] else { throw answer.unexpected("a list of ids") }
        let read = elements.compactMap { $0.integer.map(Int64.init) }
        guard read.count == elements.count, Set(read).isSubset(of: ids) else { throw answer.unexpected("ids of these") }
        try await self.inbox.mark(read, read: true, requestedAt: before)
        return read
    }

    /// Dismisses a notification on all of the user's devices. Dismissing it again does nothing.
    public func dismiss(_ id: Int64) async throws {
        do {
            _ = try await self.api.call(APIRequest("DELETE", Paths.notification(id)))
        } catch PushClientError.problem(let problem) where [404, 410].contains(problem.status) {
            // The notification is already gone.
        }
        try await self.inbox.remove([id])
    }

    /// Sends a text to the caller's own devices and returns the stored notification.
    ///
    /// If the connection is lost, the request is sent once more with the same key, so the server
    /// does not store it twice. To retry later, pass a key of your own: the server stores it
    /// for 24 hours.
    ///
    /// The payload may have 64 KiB as JSON text, unless the server's operator has chosen another
    /// limit; a longer one throws ``PushClientError/problem(_:)`` with the code
    /// `payload-too-large`. The server may also limit how much a user stores (`too-much-stored`).
    public func send(_ payload: String, idempotencyKey: UUID = UUID()) async throws -> NotificationItem {
        try await self.post(.string(payload), idempotencyKey)
    }

    /// Sends any JSON value, such as an object, as ``send(_:idempotencyKey:)-(String,_)`` sends a
    /// text. `NotificationItem.decode(_:)` reads it.
    public func send(_ payload: JSONValue, idempotencyKey: UUID = UUID()) async throws -> NotificationItem {
        // A text has a short form; any other value is a member of the long form.
        if payload.text != nil { return try await self.post(payload, idempotencyKey) }
        return try await self.post(.object([.init("Payload", payload)]), idempotencyKey)
    }

    private func post(_ body: JSONValue, _ idempotencyKey: UUID) async throws -> NotificationItem {
        var request = APIRequest("POST", Paths.notifications)
        if let app { request.query = [URLQueryItem(name: "app", value: app)] }
        request.body = body
        request.idempotencyKey = idempotencyKey
        return try await self.api.call(request).item()
    }

    // MARK: - Cache

    /// Returns the item of an answer, and caches as much of it as it may store.
    private func take(
        _ answer: Answer,
        _ id: Int64,
        requestedAt before: Int64,
        now: Date
    ) async throws -> NotificationItem {
        let item = try answer.item(id)
        try await self.cache(item, answer.json ?? .null, of: answer, requestedAt: before, now: now)
        return item
    }
}

public import Foundation
public import PushAPI

extension PushClient {
    /// Fetches a notification by the `secureId` of its push.
    ///
    /// For a cached notification the request is conditional, and the result is `fresh` if the
    /// server says that the notification is unchanged. If the server cannot be reached, or cannot
    /// answer now, the result is the `cached` notification; without one, the call throws. If the
    /// server says that the notification is gone, the client deletes it from the cache, and the
    /// call throws.
    ///
    /// The client does not cache a payload that can be fetched only once (the item's `isReadOnce`
    /// is true). For a minute after the first fetch the server returns the payload again, in case
    /// an answer was lost. Show or store the payload, then call ``confirmTaken(_:)``.
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
    /// immediately.
    ///
    /// Call this after the payload was shown or stored. Without the call, the server erases the
    /// payload a minute after the first fetch. There is no need to retry later if the call throws
    /// because the server cannot be reached. A second confirmation does nothing. If the
    /// notification's payload is not read-once, or was not fetched yet, the call throws
    /// ``PushClientError/problem(_:)`` with the code `nothing-to-confirm`.
    public func confirmTaken(_ id: Int64) async throws {
        do {
            _ = try await self.api.call(APIRequest("POST", Paths.taken(id)))
        } catch PushClientError.problem(let problem) where [404, 410].contains(problem.status) {
            // 404 or 410: the server has no such notification any more, so there is nothing left
            // to confirm.
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

    /// Marks up to 500 notifications as read in one request, and returns the ids of the
    /// notifications that are now read.
    ///
    /// The result contains neither deleted notifications nor other users' notifications. If there
    /// are more than 500 ids, the server marks nothing, and the call throws
    /// ``PushClientError/problem(_:)`` with the code `invalid-member`: pass 500 ids at a time. If
    /// there are no ids, the client sends nothing.
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

    /// Dismisses a notification on all of the user's devices. A second dismissal does nothing.
    public func dismiss(_ id: Int64) async throws {
        do {
            _ = try await self.api.call(APIRequest("DELETE", Paths.notification(id)))
        } catch PushClientError.problem(let problem) where [404, 410].contains(problem.status) {
            // 404 or 410: the server has no such notification any more, so there is nothing left
            // to dismiss.
        }
        try await self.inbox.remove([id])
    }

    /// Sends a text to the devices of the signed-in user, and returns the notification that the
    /// server has stored.
    ///
    /// If the connection is lost, the client sends the request once more with the same key, so the
    /// server stores only one notification. To be able to retry later, pass an `idempotencyKey`.
    /// Pass the same key in the retry: the server remembers the key for 24 hours.
    ///
    /// The payload may have 64 KiB as JSON text, unless the server's operator has chosen another
    /// limit; for a longer payload the call throws ``PushClientError/problem(_:)`` with the code
    /// `payload-too-large`. If a user's stored notifications reach a limit of the server, the code
    /// is `too-much-stored`.
    public func send(_ payload: String, idempotencyKey: UUID = UUID()) async throws -> NotificationItem {
        try await self.post(.string(payload), idempotencyKey)
    }

    /// Sends any JSON value, such as an object, as ``send(_:idempotencyKey:)-(String,_)`` sends a
    /// text. `NotificationItem.decode(_:)` reads the value.
    public func send(_ payload: JSONValue, idempotencyKey: UUID = UUID()) async throws -> NotificationItem {
        // A text can be the whole body; any other value must be the body's member `Payload`.
        if payload.text != nil { return try await self.post(payload, idempotencyKey) }
        return try await self.post(.object([.init("Payload", payload)]), idempotencyKey)
    }

    private func post(_ body: JSONValue, _ idempotencyKey: UUID) async throws -> NotificationItem {
        var request = APIRequest("POST", Paths.notifications)
        if let app { request.query = [URLQueryItem(name: "app", value: app)] }
        request.body = body
        request.hasPayload = true
        request.idempotencyKey = idempotencyKey
        return try await self.api.call(request).item()
    }

    // MARK: - Cache

    /// Returns the notification of an answer. Caches it: without its payload if the payload must
    /// not be stored.
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

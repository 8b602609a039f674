public import Foundation
public import PushAPI

extension PushClient {
    /// Fetches a notification by the `secureId` of its push.
    ///
    /// For a cached notification the request is conditional, and the result is `fresh` when the server says that it is
    /// unchanged. When the server cannot be reached, a cached notification is returned as `cached`. If the server says
    /// that it is gone, it is deleted from the cache, and the call throws.
    ///
    /// A payload that may be read only once (its `isReadOnce` is true) is not cached, and the server returns it again
    /// for one minute only, in case an answer is lost: show or store it, then call ``confirmTaken(_:)``.
    public func notification(_ id: Int64) async throws -> Fetched<NotificationItem> {
        let kept = self.records.item(id, now: self.now())
        do {
            var request = APIRequest("GET", Paths.notification(id))
            request.tag = kept?.tag
            let answer = try await self.api.call(request)
            if answer.status == 304, var kept, let item = kept.item {
                kept.date = self.now()
                self.records.keep(kept, as: id)
                return .fresh(item)
            }
            return .fresh(try self.take(answer, id))
        } catch PushClientError.problem(let problem) where [404, 410].contains(problem.status) {
            await self.forget([id])
            throw PushClientError.problem(problem)
        } catch let error where error.leavesWhatIsKept {
            guard let (item, date) = await self.kept(id) else { throw error }
            return .cached(item, date)
        }
    }

    /// Confirms to the server that a payload that may be read only once has arrived, so that it is erased at once.
    ///
    /// Call this once the payload is shown or stored. Without the call, or if it throws because the server cannot be
    /// reached, the server erases the payload by itself a minute after the first fetch: there is no need to retry
    /// later. A second confirmation does nothing. For a notification without such a payload, or one that was not
    /// fetched, it throws ``PushClientError/problem(_:)`` with the code `nothing-to-confirm`.
    public func confirmTaken(_ id: Int64) async throws {
        do {
            _ = try await self.api.call(APIRequest("POST", Paths.taken(id)))
        } catch PushClientError.problem(let problem) where [404, 410].contains(problem.status) {
            // It is already gone.
        }
        await self.forget([id])
    }

    /// Marks a notification as read or unread, and returns it.
    @discardableResult
    public func markRead(_ id: Int64, _ isRead: Bool = true) async throws -> NotificationItem {
        var request = APIRequest("PATCH", Paths.notification(id))
        request.body = .object([.init("Read", .bool(isRead))])
        let answer = try await self.api.call(request)
        let item = try self.take(answer, id)
        await self.inbox.change { $0.mark(id, read: item.isRead) }
        return item
    }

    /// Marks up to 500 notifications as read in one request, and returns the ids that are read now.
    ///
    /// The ids of other users' notifications, and of deleted ones, are left out. With more than 500 ids the server
    /// marks none, and the call throws ``PushClientError/problem(_:)`` with the code `invalid-member`: call it for 500
    /// at a time. Without any, nothing is sent.
    @discardableResult
    public func markRead(_ ids: [Int64]) async throws -> [Int64] {
        if ids.isEmpty { return [] }
        var request = APIRequest("POST", Paths.readNotifications)
        request.body = .object([.init("Ids", .array(ids.map { .number($0) }))])
        let answer = try await self.api.call(request)
        guard case .array(let elements)? = answer.json?["Read"] else { throw answer.unexpected("a list of ids") }
        let read = elements.compactMap { $0.integer.map(Int64.init) }
        guard read.count == elements.count, Set(read).isSubset(of: ids) else { throw answer.unexpected("ids of these") }
        for id in read {
            guard let kept = self.records.item(id, now: self.now())?.read(true) else { continue }
            self.records.keep(kept, as: id)
        }
        await self.inbox.change { for id in read { $0.mark(id, read: true) } }
        return read
    }

    /// Dismisses a notification on all of the user's devices. Dismissing it again does nothing.
    public func dismiss(_ id: Int64) async throws {
        do {
            _ = try await self.api.call(APIRequest("DELETE", Paths.notification(id)))
        } catch PushClientError.problem(let problem) where [404, 410].contains(problem.status) {
            // It is already gone.
        }
        await self.forget([id])
    }

    /// Sends a text to the caller's own devices and returns the stored notification.
    ///
    /// If the connection is lost, the request is sent once more with the same key, so the server does not store it
    /// twice. To retry later, pass a key of your own: the server remembers it for 24 hours.
    ///
    /// The payload may have 64 KiB as JSON text, unless the server's operator has chosen another bound; a longer one
    /// throws ``PushClientError/problem(_:)`` with the code `payload-too-large`. The server may also bound how much a
    /// user has stored (`too-much-stored`).
    public func send(_ payload: String, idempotencyKey: UUID = UUID()) async throws -> NotificationItem {
        var request = APIRequest("POST", Paths.notifications)
        if let app { request.query = [URLQueryItem(name: "app", value: app)] }
        request.body = .string(payload)
        request.idempotencyKey = idempotencyKey
        return try await self.api.call(request).item()
    }

    // MARK: - Kept

    /// The item of an answer; caches it if that is allowed.
    private func take(_ answer: Answer, _ id: Int64) throws(PushClientError) -> NotificationItem {
        let item = try answer.item(id)
        // All signed answers are `no-store`, for proxies' caches; in those the item itself tells whether it may be
        // cached.
        let json = answer.json ?? .null
        if answer.fields.isNoStore || json.isReadOnce || json.isNeverStored || item.payload == nil {
            self.records.forget(id)
        } else {
            let kept = KeptItem(body: answer.body, tag: answer.fields.tag, date: self.now())
            self.records.keep(kept, as: id)
        }
        return item
    }

    /// The cached item of a fetch or of the inbox, whichever the server confirmed last.
    private func kept(_ id: Int64) async -> (NotificationItem, Date)? {
        let now = self.now()
        let fetched = self.records.item(id, now: now).flatMap { kept in kept.item.map { ($0, kept.date) } }
        let state = await self.inbox.state
        guard let item = state.entries[id]?.item, item.payload != nil, item.expiresAt > now else { return fetched }
        let date = await self.inbox.date(of: state)
        if let fetched, fetched.1 >= date { return fetched }
        return (item, date)
    }

    func forget(_ ids: [Int64]) async {
        for id in ids { self.records.forget(id) }
        await self.inbox.change { for id in ids { $0.entries[id] = nil } }
    }
}

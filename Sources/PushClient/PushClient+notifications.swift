public import Foundation
public import PushAPI

extension PushClient {
    /// Collects a notification by the `secureId` of its push.
    ///
    /// For a kept one the request is conditional, and it is `fresh` when the server says that it is unchanged. When the
    /// server cannot be asked, a kept one is `cached`. One that the server says is gone is forgotten, and the call
    /// throws.
    ///
    /// A payload that may be read only once (its `isReadOnce` is true) is not kept here, and the server gives it again
    /// for a minute only, in case an answer is lost: show it or put it away, then call ``confirmTaken(_:)``.
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

    /// Tells the server that a payload that may be read only once has arrived, so that it is erased at once.
    ///
    /// Call this when the payload has been shown, or is where it shall stay. Without the call, or where it throws because the
    /// server cannot be reached, the server erases the payload by itself a minute after the first fetch: there is no need to
    /// try again later. To confirm again does nothing. What is no such payload, or has not been fetched, throws
    /// ``PushClientError/problem(_:)`` with the code `nothing-to-confirm`.
    public func confirmTaken(_ id: Int64) async throws {
        do {
            _ = try await self.api.call(APIRequest("POST", Paths.taken(id)))
        } catch PushClientError.problem(let problem) where [404, 410].contains(problem.status) {
            // It is gone already.
        }
        await self.forget([id])
    }

    /// Marks a notification as read, or as not read, and returns it.
    @discardableResult
    public func markRead(_ id: Int64, _ isRead: Bool = true) async throws -> NotificationItem {
        var request = APIRequest("PATCH", Paths.notification(id))
        request.body = .object([.init("Read", .bool(isRead))])
        let answer = try await self.api.call(request)
        let item = try self.take(answer, id)
        await self.inbox.change { $0.mark(id, read: item.isRead) }
        return item
    }

    /// Marks up to 500 notifications as read in one request, and returns those that are read now.
    ///
    /// Ids of others' notifications, and of those that are gone, are absent. With more than 500 ids the server marks
    /// none, and the call throws ``PushClientError/problem(_:)`` with the code `invalid-member`: call it for 500 at a
    /// time. Without any, nothing is sent.
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
            // It is gone already.
        }
        await self.forget([id])
    }

    /// Sends a text to the caller's own devices and returns the stored notification.
    ///
    /// A request whose connection was lost is sent once more, with the same key, and so not stored twice. Give a key of
    /// your own to try again later: the server knows it for 24 hours.
    ///
    /// The payload may have 64 KiB as JSON text, unless the server's operator has chosen another bound; a longer one
    /// throws ``PushClientError/problem(_:)`` with the code `payload-too-large`. The server may also bound how much a
    /// user has stored (`too-much-stored`).
    public func send(_ payload: String, idempotencyKey: UUID = UUID()) async throws -> NotificationItem {
        var request = APIRequest("POST", Paths.notifications)
        request.body = .string(payload)
        request.idempotencyKey = idempotencyKey
        return try await self.api.call(request).item()
    }

    // MARK: - Kept

    /// The item of an answer; keeps it if it may be kept.
    private func take(_ answer: Answer, _ id: Int64) throws(PushClientError) -> NotificationItem {
        let item = try answer.item(id)
        // Signed answers are all `no-store`, for the caches of proxies; there the item itself tells.
        let json = answer.json ?? .null
        if answer.fields.isNoStore || json.isReadOnce || json.isNeverStored || item.payload == nil {
            self.records.forget(id)
        } else {
            let kept = KeptItem(body: answer.body, tag: answer.fields.tag, date: self.now())
            self.records.keep(kept, as: id)
        }
        return item
    }

    /// The item in the answer to a fetch or in the inbox, whichever the server confirmed last.
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

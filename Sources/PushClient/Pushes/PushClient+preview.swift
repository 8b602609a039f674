internal import Foundation
public import PushAPI

extension PushClient {
    /// The notification of a push, for an app to show before the user opens it; `nil` if the
    /// notification was recalled or dismissed, or has expired. Tasks of the ``outbox`` count as
    /// done.
    ///
    /// The call makes one request. It does not fetch a read-once payload, so that the app can
    /// still fetch it later: the item's `payload` is then `nil`. If the server cannot be reached,
    /// the call returns the cached notification; without one it throws.
    public func preview(_ id: Int64) async throws -> NotificationItem? {
        let (before, now) = (try await self.inbox.read().commit, self.now())
        var request = APIRequest("GET", Paths.notifications)
        request.query = [URLQueryItem(name: "ids", value: String(id))] + self.keyQuery
        let answer: Answer
        do {
            answer = try await self.api.call(request)
        } catch {
            guard FetchFailure(error) != nil, let cached = try await self.inbox.visible(id, now: now) else {
                throw error
            }
            return cached
        }
        guard case .array(let items)? = answer.json?["Notifications"] else { throw answer.unexpected("a list") }
        guard let json = items.first else {
            try await self.inbox.remove([id])
            return nil
        }
        guard let item = NotificationItem(json) else { throw answer.unexpected("a notification") }
        guard item.id == id else { throw answer.interference(.wrongID, "\(id)", "\(item.id)") }
        try await self.cache(item, json, of: answer, requestedAt: before, now: now)
        return try await self.inbox.withTasks(item)
    }

    /// Caches the notification of an answer, without its payload if the payload must not be
    /// stored.
    ///
    /// All signed answers have `no-store`, because of proxies' caches. The item's own members say
    /// whether the client may store the payload.
    func cache(
        _ item: NotificationItem,
        _ json: JSONValue,
        of answer: Answer,
        requestedAt before: Int64,
        now: Date
    ) async throws {
        let isStorable = !answer.fields.isNoStore && !json.isReadOnce && !json.isNeverStored && item.payload != nil
        let cached = CachedItem(
            isStorable ? item : item.withoutPayload,
            // The validator of a list is not that of a single notification.
            tag: isStorable && answer.request.path != Paths.notifications ? answer.fields.tag : nil,
            date: now
        )
        try await self.inbox.take(cached, requestedAt: before, serverTime: answer.fields.serverTime)
    }
}

internal import PushAPI

/// One answer to `GET /api/notifications?since=…`.
struct InboxPage: Sendable {
    struct Item: Sendable {
        let item: NotificationItem
        let isStorable: Bool

        /// The item to cache: without its payload if the payload must not be stored.
        var cached: NotificationItem { self.isStorable ? self.item : self.item.withoutPayload }
    }

    static let maximumCursor = 1024

    let items: [Item]
    let deleted: [Int64]
    let cursor: String
    let hasMore: Bool

    /// Throws an interference if the body is not a list of notifications.
    ///
    /// The payload of an item with `"Store":"never"` must not be stored. If the answer has
    /// `Cache-Control: no-store`, but no item forbids storing, no payload of the page is stored.
    init(_ answer: Answer) throws(PushClientError) {
        guard let json = answer.json, case .array(let items)? = json["Notifications"],
            case .array(let deleted)? = json["Deleted"], let cursor = json["Cursor"]?.text,
            case .bool(let hasMore)? = json["More"]
        else { throw answer.unexpected("a list of notifications") }
        // The index has a maximum size, so a long cursor would leave less space for notifications.
        // The server's cursors have about thirty bytes.
        guard cursor.utf8.count <= Self.maximumCursor else {
            throw answer.unexpected("a cursor of at most \(Self.maximumCursor) bytes")
        }
        let isUnexplained = answer.fields.isNoStore && !items.contains { $0.isReadOnce || $0.isNeverStored }
        self.items = try items.map { json throws(PushClientError) in
            guard let item = NotificationItem(json) else { throw answer.unexpected("a list of notifications") }
            return Item(item: item, isStorable: !isUnexplained && !json.isReadOnce && !json.isNeverStored)
        }
        self.deleted = try deleted.map { json throws(PushClientError) in
            guard let id = json.integer else { throw answer.unexpected("a list of ids") }
            return Int64(id)
        }
        self.cursor = cursor
        self.hasMore = hasMore
    }
}

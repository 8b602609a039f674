internal import Foundation
internal import PushAPI

/// The inbox with its cursor: one value, so that neither is ever without the other.
struct InboxState: Codable, Sendable {
    struct Entry: Codable, Sendable {
        /// The item's JSON.
        var body: Data
        let createdAt: Date
        let expiresAt: Date
    }

    /// How much of it is kept; beyond it the oldest give up their payloads, which can still be fetched one by one, and
    /// then go.
    static let maximumBytes = 16 << 20
    static let maximumCount = 10_000

    /// `nil` before the first page.
    var cursor: String?
    var entries: [Int64: Entry] = [:]
    /// When it was last changed.
    var date: Date

    /// The items, the oldest first.
    func items(instead overlay: [Int64: NotificationItem] = [:]) -> [NotificationItem] {
        self.entries.sorted { ($0.value.createdAt, $0.key) < ($1.value.createdAt, $1.key) }
            .compactMap { id, entry in overlay[id] ?? entry.item }
    }

    mutating func expire(_ now: Date) {
        self.entries = self.entries.filter { $0.value.expiresAt > now }
    }

    mutating func merge(_ page: InboxPage, now: Date) {
        for item in page.items { self.entries[item.item.id] = Entry(item.kept) }
        for id in page.deleted { self.entries[id] = nil }
        self.cursor = page.cursor
        self.date = now
        self.expire(now)
        self.shrink(count: Self.maximumCount, bytes: Self.maximumBytes)
    }

    mutating func mark(_ id: Int64, read isRead: Bool) {
        guard let item = self.entries[id]?.item else { return }
        self.entries[id] = Entry(item.read(isRead))
    }

    /// Keeps to the limits.
    mutating func shrink(count: Int, bytes: Int) {
        var size = self.entries.values.reduce(0) { $0 + $1.body.count }
        guard self.entries.count > count || size > bytes else { return }
        for (id, entry) in self.entries.sorted(by: { ($0.value.createdAt, $0.key) < ($1.value.createdAt, $1.key) }) {
            if self.entries.count > count {
                self.entries[id] = nil
                size -= entry.body.count
            } else if size > bytes, let item = entry.item {
                let small = Entry(item.withoutPayload)
                self.entries[id] = small
                size -= entry.body.count - small.body.count
            }
        }
    }
}

extension InboxState.Entry {
    init(_ item: NotificationItem) {
        self.init(body: Data(item.json.bytes), createdAt: item.createdAt, expiresAt: item.expiresAt)
    }

    var item: NotificationItem? {
        // This type wrote the body itself.
        (try? JSONValue(reading: self.body)).flatMap(NotificationItem.init)
    }
}

extension NotificationItem {
    var withoutPayload: NotificationItem {
        NotificationItem(
            id: self.id,
            payload: nil,
            isRead: self.isRead,
            createdAt: self.createdAt,
            expiresAt: self.expiresAt,
            isReadOnce: self.isReadOnce
        )
    }
}

/// The server's word that there is nothing behind a cursor.
struct Confirmation: Codable, Sendable {
    let cursor: String
    let date: Date
}

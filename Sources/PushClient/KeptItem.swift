internal import Foundation
internal import PushAPI

/// A notification as the server gave it, with what a condition needs.
struct KeptItem: Codable, Sendable {
    /// The JSON, byte for byte.
    let body: Data
    /// The validator, as received.
    var tag: String?
    /// When it was last known to be right.
    var date: Date

    var item: NotificationItem? {
        // What this version of the client has written, it reads; anything else is as if it were not there.
        (try? JSONValue(reading: self.body)).flatMap(NotificationItem.init)
    }

    /// The same, marked: a change that the server has confirmed without saying the new validator.
    func read(_ isRead: Bool) -> KeptItem? {
        guard let item = self.item?.read(isRead) else { return nil }
        return KeptItem(body: Data(item.json.bytes), tag: nil, date: self.date)
    }
}

extension NotificationItem {
    func read(_ isRead: Bool) -> NotificationItem {
        NotificationItem(
            id: self.id,
            payload: self.payload,
            isRead: isRead,
            createdAt: self.createdAt,
            expiresAt: self.expiresAt
        )
    }
}

/// Whether an item may be kept, as far as its JSON tells.
extension JSONValue {
    /// Collected once: kept by nobody.
    var isReadOnce: Bool { self["ReadOnce"] == .bool(true) }

    /// Its sender has forbidden to keep it.
    var isNeverStored: Bool { self["Store"]?.text == "never" }
}

internal import Foundation
internal import PushAPI

/// A notification as the server gave it, with the validator for a conditional request.
struct KeptItem: Codable, Sendable {
    /// The JSON, byte for byte.
    let body: Data
    /// The validator, as received.
    var tag: String?
    /// When it was last known to be right.
    var date: Date

    var item: NotificationItem? {
        // A form of another version of the client counts as no item.
        (try? JSONValue(reading: self.body)).flatMap(NotificationItem.init)
    }

    /// The same, marked as read or not: the server has confirmed the change without a new validator.
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
            expiresAt: self.expiresAt,
            isReadOnce: self.isReadOnce
        )
    }
}

/// Whether an item may be kept, as far as its JSON tells.
extension JSONValue {
    /// Its payload is collected once, so that no client keeps it.
    var isReadOnce: Bool { self["ReadOnce"] == .bool(true) }

    /// Its sender has forbidden to keep it.
    var isNeverStored: Bool { self["Store"]?.text == "never" }
}

package import Foundation

extension NotificationItem {
    /// A payload, or its JSON as this library has stored it.
    ///
    /// Stored JSON is read when the app asks for the payload: reading it would take most of the
    /// time of a page.
    enum Content: Sendable, Hashable {
        case value(JSONValue)
        case stored(Data)

        var value: JSONValue? {
            switch self {
            case .value(let value): value
            // This library has written the bytes, so they are JSON.
            case .stored(let bytes): try? JSONValue(reading: bytes)
            }
        }

        var bytes: Data {
            switch self {
            case .value(let value): Data(value.bytes)
            case .stored(let bytes): bytes
            }
        }

        static func == (one: Content, other: Content) -> Bool {
            if case (.stored(let one), .stored(let other)) = (one, other) { return one == other }
            return one.value == other.value
        }

        // The id tells notifications apart, and both forms of a payload need the same hash.
        func hash(into hasher: inout Hasher) {}
    }

    /// Reads the bytes of ``json``, but not the payload in them; `nil` if the bytes are not a
    /// notification.
    package init?(stored bytes: Data) {
        var (head, content) = (bytes, Data?.none)
        // `json` writes numbers and times around the payload, so the first name and the last one
        // are not parts of it.
        if let name = bytes.range(of: Data(#","Payload":"#.utf8)),
            let next = bytes.range(of: Data(#","Read":"#.utf8), options: .backwards),
            name.upperBound <= next.lowerBound
        {
            content = bytes[name.upperBound..<next.lowerBound]
            head = bytes[..<name.lowerBound] + bytes[next.lowerBound...]
        }
        guard let json = try? JSONValue(reading: head) else { return nil }
        self.init(json)
        if let content { self.content = .stored(content) }
    }

    /// The same notification, marked as read or as unread.
    package func read(_ isRead: Bool) -> NotificationItem {
        var item = self
        item.isRead = isRead
        return item
    }

    /// The same notification without its payload.
    package var withoutPayload: NotificationItem { self.with(payload: nil) }

    /// The same notification with another payload.
    package func with(payload: JSONValue?) -> NotificationItem {
        var item = self
        item.content = payload.map(Content.value)
        return item
    }
}

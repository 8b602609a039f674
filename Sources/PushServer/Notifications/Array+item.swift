internal import Foundation
internal import PushAPI
internal import PushCore
internal import SocketHTTP

/// Notifications as JSON, written without intermediate values.
extension [UInt8] {
    /// Appends a notification whose payload, if it is shown, is JSON text and goes out as it was stored.
    mutating func append(
        item id: NotificationID,
        payload: Data?,
        isRead: Bool,
        createdAt: Date,
        expiresAt: Date,
        storage: StoragePolicy
    ) {
        self.append(#"{"Id":"#)
        self.append(decimal: Int(id.rawValue))
        if let payload {
            self.append(#","Payload":"#)
            self.append(contentsOf: payload)
        }
        self.append(isRead ? #","Read":true"# : #","Read":false"#)
        self.append(#","CreatedAt":""#)
        createdAt.appendRFC3339(to: &self)
        self.append(#"","ExpiresAt":""#)
        expiresAt.appendRFC3339(to: &self)
        self.append(storage.end)
    }

    /// The number of bytes that `append(item:…)` appends; `payloadLength` is `nil` where the notification has no
    /// payload.
    static func length(
        ofItem id: NotificationID,
        payloadLength: Int?,
        isRead: Bool,
        storage: StoragePolicy
    ) -> Int {
        let fixed = #"{"Id":"#.utf8.count + #","CreatedAt":""#.utf8.count + #"","ExpiresAt":""#.utf8.count + 2 * 20
        let read = isRead ? #","Read":true"#.utf8.count : #","Read":false"#.utf8.count
        let payload = payloadLength.map { #","Payload":"#.utf8.count + $0 } ?? 0
        return fixed + Self.digits(of: id) + read + payload + storage.end.utf8CodeUnitCount
    }

    /// The number of characters of a notification's id.
    static func digits(of id: NotificationID) -> Int {
        var (count, rest) = (1, id.rawValue / 10)
        while rest > 0 { (count, rest) = (count + 1, rest / 10) }
        return count
    }
}

/// Whether clients may store a notification, as told in the item itself: `Cache-Control` tells others, too, and applies
/// to a list only as a whole.
enum StoragePolicy: Sendable, Hashable {
    case allowed
    /// The client must not store it.
    case never
    /// A recipient can collect the payload once, and it is in no list.
    case readOnce

    init(isStoredByClients: Bool, isReadOnce: Bool) {
        self = isReadOnce ? .readOnce : isStoredByClients ? .allowed : .never
    }

    /// The end of the item's JSON, after the last text.
    fileprivate var end: StaticString {
        switch self {
        case .allowed: #""}"#
        case .never: #"","Store":"never"}"#
        case .readOnce: #"","ReadOnce":true}"#
        }
    }
}

internal import Bytes
internal import Foundation
internal import PushAPI
internal import PushCore
internal import SocketHTTP

/// The payload of a notification: its length, and a closure that writes it.
struct PayloadSource<Failure: Error> {
    let count: Int
    let write: (UnsafeMutableRawBufferPointer) throws(Failure) -> Void
}

extension PayloadSource<Never> {
    init(_ payload: Data) {
        self.init(count: payload.count) { memory in payload.withUnsafeBytes { memory.copyMemory(from: $0) } }
    }
}

/// Writes notifications as JSON, without intermediate values.
extension [UInt8] {
    /// Appends a notification. If the payload is shown, it is JSON text, and is written unchanged.
    mutating func append<Failure>(
        item id: NotificationID,
        payload: PayloadSource<Failure>?,
        isRead: Bool,
        createdAt: Date,
        expiresAt: Date,
        storage: StoragePolicy
    ) throws(Failure) {
        // The JSON of a notification without its payload has at most 139 bytes.
        try self.append(upTo: 144 + (payload?.count ?? 0)) { (writer) throws(Failure) in
            writer.write(#"{"Id":"#)
            writer.write(decimal: Int(id.rawValue))
            if let payload {
                writer.write(#","Payload":"#)
                try writer.write(count: payload.count, payload.write)
            }
            writer.write(isRead ? #","Read":true"# : #","Read":false"#)
            writer.write(#","CreatedAt":""#)
            createdAt.writeRFC3339(to: &writer)
            writer.write(#"","ExpiresAt":""#)
            expiresAt.writeRFC3339(to: &writer)
            writer.write(storage.end)
        }
    }

    /// The number of bytes that `append(item:…)` appends; `payloadLength` is `nil` if the item
    /// shows no payload.
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

    /// The index at which the payload begins in an item that shows its payload.
    static func payloadStart(ofItem id: NotificationID) -> Int {
        #"{"Id":"#.utf8.count + Self.digits(of: id) + #","Payload":"#.utf8.count
    }

    /// The number of decimal digits of a notification's id.
    static func digits(of id: NotificationID) -> Int {
        var (count, rest) = (1, id.rawValue / 10)
        while rest > 0 { (count, rest) = (count + 1, rest / 10) }
        return count
    }
}

/// Whether clients may store a notification. The notification's JSON says so, because
/// `Cache-Control` does not suffice: it also concerns proxies, and applies only to a list as a
/// whole.
enum StoragePolicy: Sendable, Hashable {
    case allowed
    /// The client must not store the notification.
    case never
    /// A recipient can fetch the payload only once, and no list shows the payload.
    case readOnce

    init(isStoredByClients: Bool, isReadOnce: Bool) {
        self = isReadOnce ? .readOnce : isStoredByClients ? .allowed : .never
    }

    /// The end of the notification's JSON, after its last text value.
    fileprivate var end: StaticString {
        switch self {
        case .allowed: #""}"#
        case .never: #"","Store":"never"}"#
        case .readOnce: #"","ReadOnce":true}"#
        }
    }
}

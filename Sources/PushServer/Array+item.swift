internal import Foundation
internal import PushAPI
internal import PushCore
internal import SocketHTTP

/// Notifications as JSON, without values in between.
extension [UInt8] {
    /// Appends a notification whose payload, JSON text, goes out as it was stored. Without one it is one that may be read
    /// once, and must be collected by itself.
    mutating func append(item id: NotificationID, payload: Data?, isRead: Bool, createdAt: Date, expiresAt: Date) {
        self.append(#"{"Id":"#)
        self.append(decimal: id.rawValue)
        if let payload {
            self.append(#","Payload":"#)
            self.append(contentsOf: payload)
        }
        self.append(isRead ? #","Read":true"# : #","Read":false"#)
        self.append(#","CreatedAt":""#)
        createdAt.appendRFC3339(to: &self)
        self.append(#"","ExpiresAt":""#)
        expiresAt.appendRFC3339(to: &self)
        self.append(payload == nil ? #"","ReadOnce":true}"# : #""}"#)
    }

    /// Bytes that `append(item:…)` appends; `payloadLength` is `nil` where it has no payload.
    static func length(ofItem id: NotificationID, payloadLength: Int?, isRead: Bool) -> Int {
        let fixed = #"{"Id":"#.utf8.count + #","CreatedAt":""#.utf8.count + #"","ExpiresAt":""#.utf8.count + 2 * 20
        let read = isRead ? #","Read":true"#.utf8.count : #","Read":false"#.utf8.count
        let rest = payloadLength.map { #","Payload":"#.utf8.count + $0 + #""}"#.utf8.count }
        return fixed + Self.digits(of: id) + read + (rest ?? #"","ReadOnce":true}"#.utf8.count)
    }

    /// Characters of a notification's id.
    static func digits(of id: NotificationID) -> Int {
        var (count, rest) = (1, id.rawValue / 10)
        while rest > 0 { (count, rest) = (count + 1, rest / 10) }
        return count
    }
}

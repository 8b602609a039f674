/// The row and the column in which an encrypted value is stored. The value cannot be decrypted in
/// any other place.
package enum SealedPlace: Sendable, Hashable {
    /// A notification's payload, by the notification's id and its sender.
    case payload(NotificationID, sender: Int64)
    /// A user's name; the number is the user's.
    case username(Int64)
    /// A device's address at its provider; the number is the device's.
    case handle(Int64)
    /// The tags of a device; the number is the device's.
    case tags(Int64)
    /// The tag expressions of a running broadcast; the number is the notification's.
    case expressions(Int64)
    /// The tag expressions of a scheduled notification; the number is the notification's.
    case scheduled(Int64)
    /// An entry of the audit; the number is the entry's.
    case audit(Int64)
    /// The tags given to a user; the number is the user's.
    case userTags(Int64)
    /// The alert of a notification's pushes, by the notification's id and its sender.
    case alert(NotificationID, sender: Int64)
    /// The secret that derives the keys for keyed hashes; there is only one.
    case indexSecret

    /// The place as authenticated data: one byte for the column, four for the key's number, eight
    /// for the row's id, and eight for the notification's sender or 0, big-endian.
    func withBytes<Value, Failure: Error>(
        key: UInt32,
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let (column, row, other) = self.parts
        var place = [21 of UInt8](repeating: 0)
        var bytes = place.mutableSpan
        return try bytes.withUnsafeMutableBytes { (place) throws(Failure) in
            place.storeBytes(of: column, as: UInt8.self)
            place.storeBytes(of: key.bigEndian, toByteOffset: 1, as: UInt32.self)
            place.storeBytes(of: row.bigEndian, toByteOffset: 5, as: Int64.self)
            place.storeBytes(of: other.bigEndian, toByteOffset: 13, as: Int64.self)
            return try body(UnsafeRawBufferPointer(place))
        }
    }

    func bytes(key: UInt32) -> [UInt8] { self.withBytes(key: key) { Array($0) } }

    private var parts: (column: UInt8, row: Int64, other: Int64) {
        switch self {
        case .payload(let id, let sender): (1, id.rawValue, sender)
        case .username(let user): (2, user, 0)
        case .handle(let device): (3, device, 0)
        case .tags(let device): (4, device, 0)
        case .expressions(let notification): (5, notification, 0)
        case .indexSecret: (6, 1, 0)
        case .audit(let number): (7, number, 0)
        case .userTags(let user): (8, user, 0)
        case .alert(let id, let sender): (9, id.rawValue, sender)
        case .scheduled(let notification): (12, notification, 0)
        }
    }
}

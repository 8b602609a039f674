internal import Bytes
internal import Cryptography
internal import Foundation
internal import PushCore
internal import PushStore

/// A strong validator, RFC 9110 section 8.8.3, with its quotes.
struct EntityTag: Hashable, Sendable, CustomStringConvertible {
    let description: String

    /// The tag of the same state in another encoding, which needs its own tag (RFC 9110 section
    /// 8.8.3.3).
    func suffixed(_ suffix: String) -> EntityTag {
        EntityTag(description: "\(self.description.dropLast())\(suffix)\"")
    }

    /// The comparison functions of RFC 9110 section 8.8.3.2. The tag that is compared with a list
    /// is always strong.
    enum Comparison {
        case strong, weak
    }

    /// Whether a list of tags, such as `If-None-Match`, names this one. Ignores the list from a
    /// malformed tag on.
    func isNamed(by list: String, _ comparison: Comparison = .weak) -> Bool {
        // Fast path: nearly every client sends only this tag. A string that equals ASCII text and
        // has as many bytes is the same ASCII text.
        if list.utf8.count == self.description.utf8.count, list == self.description { return true }
        // The code compares bytes: as a `Character`, a quote or a star would include a combining
        // scalar after it.
        let (quote, comma) = (UInt8(ascii: "\""), UInt8(ascii: ","))
        var rest = list.utf8[...]
        while true {
            rest = rest.drop { $0.isBlank || $0 == comma }
            guard let first = rest.first else { return false }
            if first == UInt8(ascii: "*") {
                return rest.dropFirst().first.map { $0 == 0x20 || $0 == comma } ?? true
            }
            let isWeak = rest.starts(with: "W/".utf8)
            if isWeak { rest = rest.dropFirst(2) }
            // Quotes delimit the tags; commas do not, since a tag may contain one.
            guard rest.first == quote, let end = rest.dropFirst().firstIndex(of: quote) else { return false }
            let counts = comparison == .weak || !isWeak
            if counts, rest[...end].elementsEqual(self.description.utf8) { return true }
            rest = rest[rest.index(after: end)...]
        }
    }
}

extension EntityTag {
    /// The tag of a file that anybody may read: half of its SHA-256.
    init(ofPublicFile bytes: [UInt8]) {
        self.init(description: "\"\(Hexadecimal.text(of: SHA256.hash(data: bytes).prefix(16)))\"")
    }
}

/// The state of a notification that its entity tag encodes, as one account sees it.
///
/// A payload never changes after its release, so the tag has the notification's id and time in
/// place of it. The tag reveals nothing that the answer does not contain.
struct NotificationTag {
    let id: NotificationID
    let account: AccountID?
    let isRead: Bool
    let createdAt: Date
    /// The id of the device key that the request names: an end-to-end payload differs by device.
    var deviceKey: [UInt8]?

    /// The length of the longest tag.
    static let maximumBytes = 96

    var entityTag: EntityTag {
        var text: [UInt8] = []
        text.append(upTo: Self.maximumBytes) { self.write(to: &$0) }
        return EntityTag(description: String(decoding: text, as: UTF8.self))
    }

    /// Writes the text of `entityTag`.
    func write(to writer: inout ByteWriter) {
        writer.write("\"")
        writer.write(decimal: Int(self.id.rawValue))
        writer.write(self.isRead ? "-r" : "-u")
        writer.write(decimal: Int(self.createdAt.milliseconds))
        if let account {
            writer.write("-")
            writer.write(string: account.text)
        }
        if let deviceKey {
            writer.write("-")
            writer.write(deviceKey)
        }
        writer.write("\"")
    }
}

/// Makes opaque tags of lists: half of a keyed hash over the values that a list depends on,
/// without the payloads.
struct EntityTagMaker: Sendable {
    private let hash: KeyedHash

    init(key: SymmetricKey) {
        self.hash = KeyedHash(key: key)
    }

    /// The tag of a list as one user sees it.
    ///
    /// It is strong. The number of a change is assigned once, and identifies the state of that
    /// notification as the user sees it. So the bytes depend on few things: the numbers in the
    /// list, whether there are more, and the cursor. The cursor identifies the list and its end. A
    /// notification that expires removes its number from the list. The wrapped keys depend on the
    /// device key that the request names.
    func tag(of page: NotificationPage, cursor: String?, for user: Int64, deviceKey: [UInt8]?) -> EntityTag {
        // The number of this use of the hash, then the values on which the body depends.
        let message = (Int64(2), user, Int64(page.hasMore ? 1 : 0), Int64(page.entries.count))
        let code = self.hash.code { hash in
            withUnsafeBytes(of: message) { hash.update(bufferPointer: $0) }
            page.entries.map(\.change).withUnsafeBytes { hash.update(bufferPointer: $0) }
            if let cursor { hash.update(data: Array(cursor.utf8)) }
            // No cursor contains `=`, so it marks the beginning of the device key.
            if let deviceKey { hash.update(data: [UInt8(ascii: "=")] + deviceKey) }
        }
        return Self.tag(of: code)
    }

    /// A number from 0 to 255 for a tag, unpredictable without the key.
    func padding(of tag: EntityTag) -> Int {
        let code = self.hash.code { hash in
            withUnsafeBytes(of: Int64(3)) { hash.update(bufferPointer: $0) }
            hash.update(data: Array(tag.description.utf8))
        }
        return code.first { _ in true }.map(Int.init) ?? 0
    }

    private static func tag(of digest: HMAC<SHA256>.MAC) -> EntityTag {
        let text = String(unsafeUninitializedCapacity: 34) { text in
            text[0] = UInt8(ascii: "\"")
            var end = 1
            for byte in digest.prefix(16) {
                text[end] = UInt8(hexDigit: byte >> 4)
                text[end + 1] = UInt8(hexDigit: byte & 15)
                end += 2
            }
            text[end] = UInt8(ascii: "\"")
            return end + 1
        }
        return EntityTag(description: text)
    }
}

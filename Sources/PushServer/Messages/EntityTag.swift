internal import Bytes
internal import Cryptography
internal import Foundation
internal import PushCore
internal import PushStore

/// A strong entity tag (RFC 9110 section 8.8.3) as text, with its quotes.
struct EntityTag: Hashable, Sendable, CustomStringConvertible {
    let description: String

    /// The entity tag of the same state in another content coding: each coding needs a tag of its
    /// own (RFC 9110 section 8.8.3.3).
    func suffixed(_ suffix: String) -> EntityTag {
        EntityTag(description: "\(self.description.dropLast())\(suffix)\"")
    }

    /// The comparison functions of RFC 9110 section 8.8.3.2. Of the two compared tags, the
    /// server's own is always strong.
    enum Comparison {
        case strong, weak
    }

    /// Whether a list of tags, such as the value of `If-None-Match`, names this tag. Ignores a
    /// malformed tag and all that follows it in the list.
    func isNamed(by list: String, _ comparison: Comparison = .weak) -> Bool {
        // Fast path: nearly every client sends a list of only this tag. Swift may call strings
        // with different bytes equal; a string that equals an ASCII string and has as many bytes
        // has the same bytes.
        if list.utf8.count == self.description.utf8.count, list == self.description { return true }
        // The code below compares bytes, not values of `Character`: a quote or a star with a
        // combining scalar after it is another `Character`.
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
            // Quotes delimit the tags; commas do not, since a tag may contain a comma.
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

/// The state of a notification, as one account sees the notification. The entity tag encodes this
/// state.
///
/// A payload never changes after its release, so the tag contains the notification's id and time
/// in place of the payload. The tag reveals nothing that the answer does not contain.
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

/// Makes opaque entity tags of lists. A tag is half of a keyed hash over all values on which a
/// list depends, except the payloads.
struct EntityTagMaker: Sendable {
    private let hash: KeyedHash

    init(key: SymmetricKey) {
        self.hash = KeyedHash(key: key)
    }

    /// The entity tag of a list as one user sees it.
    ///
    /// The tag is strong: lists with different bytes have different tags. Each change of a
    /// notification gets a number of its own, which identifies the notification's state as the
    /// user sees it. So the bytes depend only on these numbers, on whether more notifications
    /// follow, and on the cursor, which identifies the list and the page's end. If a notification
    /// expires, its number is missing. The wrapped keys in the list depend on the device key that
    /// the request names.
    func tag(of page: NotificationPage, cursor: String?, for user: Int64, deviceKey: [UInt8]?) -> EntityTag {
        // The number 2 distinguishes this use of the keyed hash from others; after it come the
        // values on which the body depends.
        let message = (Int64(2), user, Int64(page.hasMore ? 1 : 0), Int64(page.entries.count))
        let code = self.hash.code { hash in
            withUnsafeBytes(of: message) { hash.update(bufferPointer: $0) }
            page.entries.map(\.change).withUnsafeBytes { hash.update(bufferPointer: $0) }
            if let cursor { hash.update(data: Array(cursor.utf8)) }
            // No cursor contains `=`, so `=` marks the beginning of the device key.
            if let deviceKey { hash.update(data: [UInt8(ascii: "=")] + deviceKey) }
        }
        return Self.tag(of: code)
    }

    /// A number from 0 to 255 that depends on a tag, and that nobody can predict without the
    /// hash's key.
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

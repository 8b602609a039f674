internal import Bytes

/// The form of an end-to-end payload (`docs/end-to-end.md`). The server cannot decrypt it. It only
/// removes wrapped keys, so that each device gets only the wrapped key that is for this device.
package enum EndToEndPayload {
    /// The largest number of devices that can decrypt the same payload.
    package static let maximumDevices = 1000
    /// The number of characters in the id of a device key, a sender or a message.
    package static let idLength = 22

    /// The id of a device key, from a parameter of a request. `nil` for a text that is not such an
    /// id: no wrapped key could belong to it.
    package static func deviceKey(_ text: String?) -> [UInt8]? {
        guard let text, text.utf8.count == Self.idLength, text.utf8.allSatisfy(Self.isBase64URL) else { return nil }
        return Array(text.utf8)
    }

    /// The first bytes of the JSON text of an end-to-end payload.
    package static let start = Array(#""sealpost-e2e."#.utf8)
    /// The length of the entry for one device. It consists of the id of a device key, and of 97
    /// bytes in base64url: the encapsulated and the wrapped key.
    private static let entryLength = Self.idLength + 130

    /// Whether JSON text begins as an end-to-end payload does.
    package static func isClaimed(by text: [UInt8], from start: Int = 0) -> Bool {
        // The code uses no slice, which would change reference counts: every fetch calls this
        // function for each payload.
        guard start >= 0, text.count - start >= Self.start.count else { return false }
        return Self.start.indices.allSatisfy { text[start + $0] == Self.start[$0] }
    }

    /// The length of an end-to-end payload as one device gets it; `nil` if the form of the payload
    /// is wrong.
    package static func lengthForOneDevice(_ payload: [UInt8]) -> Int? {
        guard payload.last == UInt8(ascii: "\""), let keys = payload.withUnsafeBytes({ Self.keys(in: $0, from: 0) }),
            keys.upperBound == payload.count - 1, (1...Self.maximumDevices).contains(keys.count / Self.entryLength)
        else { return nil }
        let parts = payload[1..<keys.lowerBound - 1].split(
            separator: UInt8(ascii: "."),
            omittingEmptySubsequences: false
        )
        guard parts.count == 7, parts[3].count == Self.idLength, parts[4].count == Self.idLength,
            Self.isTime(parts[5]),
            parts.dropFirst().allSatisfy({ !$0.isEmpty && $0.allSatisfy(Self.isBase64URL) }),
            Self.isSorted(payload[keys])
        else { return nil }
        return payload.count - keys.count + Self.entryLength
    }

    /// Whether a payload has the wrapped key of the device key with the id `device`, or is not
    /// encrypted end to end.
    package static func isReadable(_ text: [UInt8], from start: Int = 0, by device: [UInt8]?) -> Bool {
        text.withUnsafeBytes { bytes in
            guard let keys = Self.keys(in: bytes, from: start) else { return true }
            return device.flatMap { Self.entry(of: $0, in: bytes, keys) } != nil
        }
    }

    /// Removes all wrapped keys from the payload that begins at `start` in `text`, except for that
    /// of the device key with the id `device`. Leaves other payloads as they are.
    package static func cut(_ text: inout [UInt8], from start: Int = 0, for device: [UInt8]?) {
        let cuts = text.withUnsafeBytes { bytes -> (Range<Int>, Range<Int>)? in
            guard let keys = Self.keys(in: bytes, from: start) else { return nil }
            let own = device.flatMap { Self.entry(of: $0, in: bytes, keys) } ?? keys.upperBound..<keys.upperBound
            return (keys.lowerBound..<own.lowerBound, own.upperBound..<keys.upperBound)
        }
        guard let (before, after) = cuts else { return }
        text.removeSubrange(after)
        text.removeSubrange(before)
    }

    /// The range of the entries with the wrapped keys in the payload that begins at `start`; `nil`
    /// if the payload is not encrypted end to end.
    private static func keys(in bytes: UnsafeRawBufferPointer, from start: Int) -> Range<Int>? {
        guard start >= 0, start <= bytes.count, bytes[start...].starts(with: Self.start),
            let end = bytes[(start + 1)...].firstIndex(of: UInt8(ascii: "\"")),
            let dot = bytes[start..<end].lastIndex(of: UInt8(ascii: ".")),
            (end - dot - 1).isMultiple(of: Self.entryLength),
            // A text that an earlier version of the server has stored may contain other
            // characters. It then counts as not encrypted end to end.
            bytes[(dot + 1)..<end].allSatisfy(Self.isBase64URL)
        else { return nil }
        return dot + 1..<end
    }

    /// The entry for a device, by binary search: the entries are sorted.
    private static func entry(of device: [UInt8], in bytes: UnsafeRawBufferPointer, _ keys: Range<Int>) -> Range<Int>? {
        var (low, high) = (0, keys.count / Self.entryLength)
        while low < high {
            let middle = (low + high) / 2
            let start = keys.lowerBound + middle * Self.entryLength
            let id = bytes[start..<start + Self.idLength]
            if id.elementsEqual(device) { return start..<start + Self.entryLength }
            if id.lexicographicallyPrecedes(device) { low = middle + 1 } else { high = middle }
        }
        return nil
    }

    private static func isSorted(_ keys: ArraySlice<UInt8>) -> Bool {
        stride(from: keys.startIndex + Self.entryLength, to: keys.endIndex, by: Self.entryLength).allSatisfy { next in
            let last = next - Self.entryLength
            return keys[last..<last + Self.idLength].lexicographicallyPrecedes(keys[next..<next + Self.idLength])
        }
    }

    /// Whether a text is a time: up to ten digits without leading zeros.
    static func isTime(_ text: some Collection<UInt8>) -> Bool {
        (1...10).contains(text.count) && text.allSatisfy(\.isDigit)
            && (text.count == 1 || text.first != UInt8(ascii: "0"))
    }

    static func isBase64URL(_ byte: UInt8) -> Bool {
        byte.isLetterOrDigit || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }
}

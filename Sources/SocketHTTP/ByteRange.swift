internal import Bytes

/// A range of bytes in a request's head. It needs half the memory of a `Range<Int>`: 32 bits
/// suffice for an index, since heads are short.
struct ByteRange: Sendable, Hashable {
    private let lowerBound: UInt32
    private let upperBound: UInt32

    init(_ start: Int, _ end: Int) {
        self.lowerBound = UInt32(clamping: start)
        self.upperBound = UInt32(clamping: end)
    }

    var start: Int { Int(self.lowerBound) }
    var end: Int { Int(self.upperBound) }
    var count: Int { self.end - self.start }
    var isEmpty: Bool { self.lowerBound == self.upperBound }
    var range: Range<Int> { self.start..<self.end }
}

extension Span<UInt8> {
    /// Whether the bytes of `range` equal `text`, ignoring case; `text` must be in lower case.
    func equals(_ range: ByteRange, anyCase text: StaticString) -> Bool {
        self.equals(range, anyCase: UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Whether the bytes of `range` equal `text`, ignoring case; `text` must be in lower case.
    ///
    /// The loop compares eight bytes at a time, since a request has some ten lookups of field
    /// names.
    func equals(_ range: ByteRange, anyCase text: UnsafeRawBufferPointer) -> Bool {
        guard range.count == text.count else { return false }
        return self.extracting(range.range).withUnsafeBytes { bytes in
            var index = 0
            while index + 8 <= bytes.count {
                let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                guard word.lowercased == text.loadUnaligned(fromByteOffset: index, as: UInt64.self) else {
                    return false
                }
                index += 8
            }
            while index < bytes.count, bytes[index].lowercased == text[index] { index += 1 }
            return index == bytes.count
        }
    }

    /// Whether the bytes of `range` are exactly `text`.
    func equals(_ range: ByteRange, _ text: StaticString) -> Bool {
        guard range.count == text.utf8CodeUnitCount else { return false }
        for offset in 0..<range.count where self[range.start + offset] != text.utf8Start[offset] {
            return false
        }
        return true
    }

    /// The index after the bytes at the start of `range` that satisfy `isPart`.
    ///
    /// The function checks the bounds once, and not at each byte.
    @inline(__always)
    func end(of range: ByteRange, while isPart: (UInt8) -> Bool) -> Int {
        self.extracting(range.range).withUnsafeBufferPointer { bytes in
            var index = 0
            while index < bytes.count, isPart(bytes[index]) { index += 1 }
            return range.start + index
        }
    }

    /// The index after the visible bytes at the start of `range`. The loop checks eight bytes at a
    /// time, since a request's target may be long.
    func endOfVisible(_ range: ByteRange) -> Int {
        let (ones, highs): (UInt64, UInt64) = (0x0101_0101_0101_0101, 0x8080_8080_8080_8080)
        return self.extracting(range.range).withUnsafeBytes { bytes in
            var index = 0
            while index + 8 <= bytes.count {
                let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                // These expressions set the high bit of each byte that is below 0x21 or above
                // 0x7E. They may also set that of the byte after such a byte, but never clear one.
                let isBelow = (word &- ones &* 0x21) & ~word
                guard (isBelow | word | (word &+ ones)) & highs == 0 else { break }
                index += 8
            }
            while index < bytes.count, bytes[index].isVisible { index += 1 }
            return range.start + index
        }
    }

    /// `range` without spaces and tabs at its ends.
    func trimmed(_ range: ByteRange) -> ByteRange {
        var (start, end) = (range.start, range.end)
        while start < end, self[start].isBlank { start += 1 }
        while start < end, self[end - 1].isBlank { end -= 1 }
        return ByteRange(start, end)
    }

    func string(_ range: ByteRange) -> String {
        self.extracting(range.range).withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }
}

extension UInt64 {
    /// These eight bytes with each of `A` to `Z` in lower case.
    fileprivate var lowercased: UInt64 {
        let (ones, highs): (UInt64, UInt64) = (0x0101_0101_0101_0101, 0x8080_8080_8080_8080)
        // Without their high bits, the bytes are so small that no addition carries into the next
        // byte. Each addition sets the high bit of the bytes from `A` on, or of those above `Z`.
        let low = self & ~highs
        let isUppercase = (low &+ ones &* (0x80 - 0x41)) & ~(low &+ ones &* (0x7F - 0x5A)) & ~self & highs
        return self | isUppercase &>> 2
    }
}

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
        guard range.count == text.utf8CodeUnitCount else { return false }
        for offset in 0..<range.count where self[range.start + offset].lowercased != text.utf8Start[offset] {
            return false
        }
        return true
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

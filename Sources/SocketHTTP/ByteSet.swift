/// A set of ASCII bytes, stored as two integers, which the compiler can embed as constants.
struct ByteSet: Sendable {
    private let low: UInt64
    private let high: UInt64

    init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high
    }

    func contains(_ byte: UInt8) -> Bool {
        let word = byte < 64 ? self.low : self.high
        return byte < 128 && (word &>> UInt64(byte & 63)) & 1 == 1
    }

    /// `tchar` of RFC 9110 §5.6.2, for methods, field names and transfer codings.
    static let token = ByteSet(low: 0x03FF_6CFA_0000_0000, high: 0x57FF_FFFF_C7FF_FFFE)
    /// `unreserved` and `sub-delims` of RFC 3986. A `reg-name` consists of these bytes and of
    /// percent-encoded bytes.
    static let hostName = ByteSet(low: 0x2BFF_7FD2_0000_0000, high: 0x47FF_FFFE_87FF_FFFE)
    /// `pchar` of RFC 3986 and `/`, except percent-encoded bytes.
    static let path = ByteSet(low: 0x2FFF_FFD2_0000_0000, high: 0x47FF_FFFE_87FF_FFFF)
    /// `pchar` of RFC 3986, `/` and `?`, except percent-encoded bytes.
    static let query = ByteSet(low: 0xAFFF_FFD2_0000_0000, high: 0x47FF_FFFE_87FF_FFFF)
}

extension Span<UInt8> {
    /// Whether all bytes of `range` may occur in a field's value.
    ///
    /// The loop checks eight bytes at a time, since most bytes of a request are in field values.
    func isFieldValue(_ range: ByteRange) -> Bool {
        self.extracting(range.range).withUnsafeBytes { bytes in
            let (ones, highs): (UInt64, UInt64) = (0x0101_0101_0101_0101, 0x8080_8080_8080_8080)
            guard bytes.count >= 8 else { return bytes.allSatisfy(\.isFieldValue) }
            var index = 0
            while index < bytes.count {
                // The last eight bytes may overlap the eight before them.
                index = min(index, bytes.count - 8)
                let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                // These expressions set the high bit of each byte that is below 0x20 or is DEL. A
                // borrow can set the high bit of another byte, too, but never clears one. So if a
                // bit is set, the slow check below decides.
                let isBelow = (word &- ones &* 0x20) & ~word & highs
                let isDelete = ((word ^ ones &* 0x7F) &- ones) & ~(word ^ ones &* 0x7F) & highs
                if isBelow | isDelete != 0 {
                    guard bytes[index..<(index + 8)].allSatisfy(\.isFieldValue) else { return false }
                }
                index += 8
            }
            return true
        }
    }
}

extension UInt8 {
    /// Whether the byte is `field-vchar`, space or tab (RFC 9110 §5.5). It is then no control
    /// character except tab, and so not CR, LF or NUL.
    var isFieldValue: Bool { self >= 0x20 ? self != 0x7F : self == 0x09 }
}

/// Hexadecimal text, two digits for each byte.
package enum Hexadecimal {
    /// Encodes bytes in lower case.
    package static func text(of bytes: some Sequence<UInt8>) -> String {
        let bytes = Array(bytes)
        return String(unsafeUninitializedCapacity: bytes.count * 2) { text in
            for (index, byte) in bytes.enumerated() {
                text[2 * index] = UInt8(hexDigit: byte >> 4)
                text[2 * index + 1] = UInt8(hexDigit: byte & 15)
            }
            return bytes.count * 2
        }
    }
}

extension UInt8 {
    /// The digit of a value below 16, in lower case.
    @inlinable package init(hexDigit value: UInt8) {
        self = value < 10 ? 0x30 + value : 0x61 + (value - 10)
    }

    /// The value of a hexadecimal digit in either case; `nil` for any other byte.
    @inlinable package var hexDigitValue: UInt8? {
        if self.isDigit { return self &- 0x30 }
        let letter = (self | 0x20) &- 0x61
        return letter < 6 ? letter + 10 : nil
    }

    /// `0` to `9`, `a` to `f` and `A` to `F`.
    @inlinable package var isHexDigit: Bool { self.hexDigitValue != nil }
}

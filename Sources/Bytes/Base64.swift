/// Base64 (RFC 4648) with one spelling for each value: `bytes(in:)` accepts only what `text(of:)`
/// writes.
package enum Base64: Sendable, CaseIterable {
    /// Section 4, with padding: used in HTTP fields and in key files.
    case standard
    /// Section 4 without padding, as in the PHC string format.
    case unpadded
    /// Section 5 without padding: JSON Web Keys and Tokens, Web Push, and texts in URLs.
    case url

    /// Encodes bytes.
    package func text(of bytes: some Sequence<UInt8>) -> String {
        let bytes = Array(bytes)
        return String(unsafeUninitializedCapacity: (bytes.count + 2) / 3 * 4) { text in
            var end = 0
            // The bits that are not yet written as digits, and the number of these bits.
            var (bits, width) = (UInt32(0), UInt32(0))
            for byte in bytes {
                (bits, width) = (bits << 8 | UInt32(byte), width + 8)
                while width >= 6 {
                    width -= 6
                    text[end] = self.digit(bits >> width & 63)
                    end += 1
                }
            }
            if width > 0 {
                text[end] = self.digit(bits << (6 - width) & 63)
                end += 1
            }
            while self == .standard, end % 4 != 0 {
                text[end] = UInt8(ascii: "=")
                end += 1
            }
            return end
        }
    }

    /// Decodes a text; `nil` unless it is exactly the text that `text(of:)` writes for the bytes.
    ///
    /// So padding must be complete and not longer, the alphabets must not be mixed, and the unused
    /// bits of the last digit must be zero.
    package func bytes(in text: some Sequence<UInt8>) -> [UInt8]? {
        var digits = Array(text)
        if self == .standard {
            guard digits.count.isMultiple(of: 4) else { return nil }
            for _ in 0..<2 where digits.last == UInt8(ascii: "=") { digits.removeLast() }
        }
        guard let (bytes, spare) = self.read(digits), spare == 0 else { return nil }
        return bytes
    }

    /// Decodes a text that others have written: in either alphabet or both, with or without
    /// padding, and with any unused bits; `nil` for anything else.
    package static func bytes(inAnySpelling text: some Sequence<UInt8>) -> [UInt8]? {
        var digits = text.map { byte in
            switch byte {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            default: byte
            }
        }
        while digits.last == UInt8(ascii: "=") { digits.removeLast() }
        return self.url.read(digits)?.bytes
    }

    // MARK: - Private

    /// The bytes, and the unused bits of the last digit; `nil` if a character is not a digit, or
    /// if the last digit stands alone.
    ///
    /// It is not generic: where the compiler did not specialise it for the caller, a generic
    /// version was ten times as slow.
    private func read(_ digits: [UInt8]) -> (bytes: [UInt8], spare: UInt32)? {
        guard digits.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count * 3 / 4)
        var (bits, width) = (UInt32(0), UInt32(0))
        for digit in digits {
            guard let value = self.value(of: digit) else { return nil }
            (bits, width) = (bits << 6 | UInt32(value), width + 6)
            if width >= 8 {
                width -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> width))
            }
        }
        return (bytes, bits & (1 << width - 1))
    }

    private func digit(_ value: UInt32) -> UInt8 {
        let value = UInt8(truncatingIfNeeded: value)
        return switch value {
        case 0..<26: UInt8(ascii: "A") + value
        case 26..<52: UInt8(ascii: "a") + (value - 26)
        case 52..<62: UInt8(ascii: "0") + (value - 52)
        case 62: self == .url ? UInt8(ascii: "-") : UInt8(ascii: "+")
        default: self == .url ? UInt8(ascii: "_") : UInt8(ascii: "/")
        }
    }

    private func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): digit - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): digit - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0") + 52
        case self.digit(62): 62
        case self.digit(63): 63
        default: nil
        }
    }
}

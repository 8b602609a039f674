internal import Bytes

/// A value of a structured field (RFC 9651 §3.3), without its parameters.
package enum BareItem: Sendable, Hashable {
    /// An integer of at most fifteen digits.
    case integer(Int64)
    /// A decimal in thousandths, of at most fifteen digits.
    case decimal(thousandths: Int64)
    /// A text of printable ASCII.
    case string(String)
    case token(String)
    case bytes([UInt8])
    case boolean(Bool)
    /// A date in seconds since 1970.
    case date(Int64)
    /// A text of any Unicode.
    case display(String)

    /// The value in the syntax of a field.
    ///
    /// The text is not validated: a value that its case does not allow yields an invalid
    /// field. Check values that the parser did not produce.
    package var text: String {
        switch self {
        case .integer(let value): String(value)
        case .decimal(let thousandths): Self.text(thousandths: thousandths)
        case .string(let text): Self.quoted(text)
        case .token(let text): text
        case .bytes(let bytes): ":\(Base64.standard.text(of: bytes)):"
        case .boolean(let value): value ? "?1" : "?0"
        case .date(let seconds): "@\(seconds)"
        case .display(let text): Self.percentEncoded(text)
        }
    }

    // MARK: - Private

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            if scalar == "\"" || scalar == "\\" { quoted.unicodeScalars.append("\\") }
            quoted.unicodeScalars.append(scalar)
        }
        return quoted + "\""
    }

    /// Writes at least one digit on either side of the point, and no zeros at the end.
    private static func text(thousandths: Int64) -> String {
        let (whole, rest) = thousandths.magnitude.quotientAndRemainder(dividingBy: 1000)
        var fraction = String(rest)
        fraction = String(repeating: "0", count: 3 - fraction.utf8.count) + fraction
        while fraction.utf8.count > 1, fraction.utf8.last == 0x30 { fraction.removeLast() }
        return "\(thousandths < 0 ? "-" : "")\(whole).\(fraction)"
    }

    private static func percentEncoded(_ text: String) -> String {
        var bytes = Array("%\"".utf8)
        for byte in text.utf8 {
            switch byte {
            case 0x25, 0x22, 0x00...0x1F, 0x7F...0xFF:
                bytes += [0x25, UInt8(hexDigit: byte >> 4), UInt8(hexDigit: byte & 15)]
            default:
                bytes.append(byte)
            }
        }
        return String(decoding: bytes + [0x22], as: UTF8.self)
    }
}

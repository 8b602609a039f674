internal import Bytes

/// The reason why a text is not a structured field.
package struct StructuredFieldError: Error, Hashable, CustomStringConvertible {
    package let description: String
}

/// Reads structured fields (RFC 9651 §4.2) in one pass over their bytes.
///
/// The parser is stricter than the RFC in one point: base64 must have its padding, and its pad
/// bits must be zero. So the same bytes can be written in only one way.
package struct StructuredFieldParser {
    /// The longest field in bytes, far longer than Sealpost's own.
    package static let maximumLength = 16_384

    private let bytes: [UInt8]
    private var position = 0

    /// Reads a dictionary; an empty or blank text has no members.
    package static func dictionary(_ text: String) throws(StructuredFieldError) -> FieldDictionary {
        var parser = try Self(text)
        var dictionary = FieldDictionary()
        parser.skipBlanks()
        while !parser.isAtEnd {
            let key = try parser.key()
            dictionary.append(key, try parser.take("=") ? parser.member() : parser.trueMember())
            parser.skipWhitespace()
            guard !parser.isAtEnd else { break }
            guard parser.take(",") else { throw parser.error("a comma is missing") }
            parser.skipWhitespace()
            guard !parser.isAtEnd else { throw parser.error("it ends with a comma") }
        }
        return dictionary
    }

    /// Reads a single value with its parameters.
    package static func item(_ text: String) throws(StructuredFieldError) -> FieldItem {
        var parser = try Self(text)
        parser.skipBlanks()
        let item = try parser.item()
        parser.skipBlanks()
        guard parser.isAtEnd else { throw parser.error("unexpected data at the end") }
        return item
    }

    private init(_ text: String) throws(StructuredFieldError) {
        self.bytes = Array(text.utf8)
        guard self.bytes.count <= Self.maximumLength else { throw self.error("it is too long") }
    }

    // MARK: - Members

    private mutating func member() throws(StructuredFieldError) -> FieldMember {
        self.take("(") ? .list(try self.restOfInnerList()) : .item(try self.item())
    }

    private mutating func trueMember() throws(StructuredFieldError) -> FieldMember {
        .item(FieldItem(.boolean(true), parameters: try self.parameters()))
    }

    private mutating func restOfInnerList() throws(StructuredFieldError) -> InnerList {
        var items: [FieldItem] = []
        while true {
            self.skipBlanks()
            if self.take(")") { return InnerList(items, parameters: try self.parameters()) }
            items.append(try self.item())
            guard self.next == 0x20 || self.next == UInt8(ascii: ")") else {
                throw self.error("a space or a closing parenthesis is missing")
            }
        }
    }

    private mutating func item() throws(StructuredFieldError) -> FieldItem {
        let value = try self.bareItem()
        return FieldItem(value, parameters: try self.parameters())
    }

    private mutating func parameters() throws(StructuredFieldError) -> FieldParameters {
        var parameters = FieldParameters()
        while self.take(";") {
            self.skipBlanks()
            let key = try self.key()
            parameters.append(key, try self.take("=") ? self.bareItem() : .boolean(true))
        }
        return parameters
    }

    private mutating func key() throws(StructuredFieldError) -> String {
        guard let first = self.next, first.isLowercaseLetter || first == UInt8(ascii: "*") else {
            throw self.error("a key is missing")
        }
        return self.prefix { $0.isLowercaseLetter || $0.isDigit || "_-.*".utf8.contains($0) }
    }

    // MARK: - Values

    private mutating func bareItem() throws(StructuredFieldError) -> BareItem {
        switch self.next {
        case UInt8(ascii: "\""): return .string(try self.string())
        case UInt8(ascii: ":"): return .bytes(try self.byteSequence())
        case UInt8(ascii: "?"): return .boolean(try self.boolean())
        case UInt8(ascii: "@"): return .date(try self.date())
        case UInt8(ascii: "%"): return .display(try self.display())
        case let byte? where byte.isDigit || byte == UInt8(ascii: "-"): return try self.number()
        case let byte? where byte.isLetter || byte == UInt8(ascii: "*"):
            return .token(self.prefix { $0.isTokenCharacter || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "/") })
        default: throw self.error("a value is missing")
        }
    }

    private mutating func number() throws(StructuredFieldError) -> BareItem {
        let sign: Int64 = self.take("-") ? -1 : 1
        let whole = self.prefix { $0.isDigit }
        guard self.take(".") else {
            guard (1...15).contains(whole.utf8.count), let value = Int64(whole) else {
                throw self.error("invalid integer")
            }
            return .integer(sign * value)
        }
        let fraction = self.prefix { $0.isDigit }
        let padding = String(repeating: "0", count: max(0, 3 - fraction.utf8.count))
        guard
            (1...12).contains(whole.utf8.count), (1...3).contains(fraction.utf8.count),
            let value = Int64(whole + fraction + padding)
        else { throw self.error("invalid decimal") }
        return .decimal(thousandths: sign * value)
    }

    private mutating func date() throws(StructuredFieldError) -> Int64 {
        _ = self.take("@")
        guard case .integer(let seconds) = try self.number() else { throw self.error("invalid date") }
        return seconds
    }

    private mutating func boolean() throws(StructuredFieldError) -> Bool {
        _ = self.take("?")
        if self.take("1") { return true }
        guard self.take("0") else { throw self.error("invalid boolean") }
        return false
    }

    private mutating func string() throws(StructuredFieldError) -> String {
        _ = self.take("\"")
        var content: [UInt8] = []
        while let byte = self.pop() {
            switch byte {
            case UInt8(ascii: "\""):
                return String(decoding: content, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let escaped = self.pop(), escaped == UInt8(ascii: "\"") || escaped == UInt8(ascii: "\\") else {
                    throw self.error("a string has an invalid escape")
                }
                content.append(escaped)
            case 0x20...0x7E:
                content.append(byte)
            default:
                throw self.error("a string is not of printable ASCII")
            }
        }
        throw self.error("a string is not terminated")
    }

    private mutating func byteSequence() throws(StructuredFieldError) -> [UInt8] {
        _ = self.take(":")
        let text = self.prefix { $0.isLetterOrDigit || "+/=".utf8.contains($0) }
        guard self.take(":") else { throw self.error("a byte sequence is not terminated") }
        guard let bytes = Base64.standard.bytes(in: text.utf8) else { throw self.error("invalid base64") }
        return bytes
    }

    private mutating func display() throws(StructuredFieldError) -> String {
        guard self.take("%"), self.take("\"") else { throw self.error("invalid display string") }
        var content: [UInt8] = []
        while let byte = self.pop() {
            switch byte {
            case UInt8(ascii: "\""):
                guard let text = String(strict: content) else { throw self.error("invalid UTF-8") }
                return text
            case UInt8(ascii: "%"):
                guard let high = self.pop()?.lowerHexDigit, let low = self.pop()?.lowerHexDigit else {
                    throw self.error("a display string has an invalid percent-encoding")
                }
                content.append(high << 4 | low)
            case 0x20...0x7E:
                content.append(byte)
            default:
                throw self.error("a display string is not of printable ASCII")
            }
        }
        throw self.error("a display string is not terminated")
    }

    // MARK: - Bytes

    private var isAtEnd: Bool { self.position == self.bytes.count }
    private var next: UInt8? { self.isAtEnd ? nil : self.bytes[self.position] }

    private mutating func pop() -> UInt8? {
        guard let byte = self.next else { return nil }
        self.position += 1
        return byte
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard self.next == UInt8(ascii: character) else { return false }
        self.position += 1
        return true
    }

    /// Consumes ASCII bytes as long as `belongs` holds.
    private mutating func prefix(_ belongs: (UInt8) -> Bool) -> String {
        let prefix = self.bytes[self.position...].prefix(while: belongs)
        self.position = prefix.endIndex
        return String(decoding: prefix, as: UTF8.self)
    }

    private mutating func skipBlanks() {
        while self.next == 0x20 { self.position += 1 }
    }

    private mutating func skipWhitespace() {
        while self.next?.isBlank == true { self.position += 1 }
    }

    private func error(_ what: String) -> StructuredFieldError {
        StructuredFieldError(description: "\(what) (at byte \(self.position))")
    }
}

extension UInt8 {
    /// Whether the byte is a token character (RFC 9110 §5.6.2).
    fileprivate var isTokenCharacter: Bool {
        self.isLetterOrDigit || "!#$%&'*+-.^_`|~".utf8.contains(self)
    }

    fileprivate var lowerHexDigit: UInt8? { self.isUppercaseLetter ? nil : self.hexDigitValue }
}

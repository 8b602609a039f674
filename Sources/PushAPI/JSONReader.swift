internal import Bytes

extension JSONValue {
    /// Reads one JSON text in UTF-8, exactly as RFC 8259 defines it.
    ///
    /// Throws if the text is not JSON, or if it has more than `maximumDepth` nested levels.
    public init(reading bytes: some Collection<UInt8>, maximumDepth: Int = 64) throws(JSONSyntaxError) {
        var reader = JSONReader(bytes: Array(bytes), maximumDepth: maximumDepth)
        self = try reader.readText()
    }
}

/// A text that is not JSON.
public struct JSONSyntaxError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The reason why the text is not JSON.
    public let reason: String
    /// The number of bytes before the error.
    public let offset: Int

    /// A text for a problem's detail.
    public var description: String { "\(self.reason) at byte \(self.offset)" }
}

/// A recursive-descent parser over bytes. The limit of its depth also limits the stack that it
/// needs.
private struct JSONReader {
    let bytes: [UInt8]
    let maximumDepth: Int
    var position = 0
    var depth = 0

    init(bytes: [UInt8], maximumDepth: Int) {
        (self.bytes, self.maximumDepth) = (bytes, maximumDepth)
    }

    mutating func readText() throws(JSONSyntaxError) -> JSONValue {
        let value = try self.readValue()
        self.skipBlanks()
        guard self.position == self.bytes.count else { throw self.error("unexpected data after the value") }
        return value
    }

    private mutating func readValue() throws(JSONSyntaxError) -> JSONValue {
        self.skipBlanks()
        switch self.peek {
        case UInt8(ascii: "{"): return try self.nested { reader throws(JSONSyntaxError) in try reader.readObject() }
        case UInt8(ascii: "["): return try self.nested { reader throws(JSONSyntaxError) in try reader.readArray() }
        case UInt8(ascii: "\""): return .string(try self.readString())
        case UInt8(ascii: "t"): return try self.readWord("true", .bool(true))
        case UInt8(ascii: "f"): return try self.readWord("false", .bool(false))
        case UInt8(ascii: "n"): return try self.readWord("null", .null)
        case UInt8(ascii: "-"), .some(0x30...0x39): return try self.readNumber()
        case .some: throw self.error("unexpected character")
        case nil: throw self.error("a value is missing")
        }
    }

    private mutating func nested(
        _ read: (inout JSONReader) throws(JSONSyntaxError) -> JSONValue
    ) throws(JSONSyntaxError) -> JSONValue {
        guard self.depth < self.maximumDepth else { throw self.error("more than \(self.maximumDepth) levels") }
        self.depth += 1
        self.position += 1
        let value = try read(&self)
        self.depth -= 1
        return value
    }

    private mutating func readObject() throws(JSONSyntaxError) -> JSONValue {
        var members: [JSONValue.Member] = []
        self.skipBlanks()
        if self.take("}") { return .object([]) }
        repeat {
            self.skipBlanks()
            guard self.peek == UInt8(ascii: "\"") else { throw self.error("a member's name is missing") }
            let name = try self.readString()
            self.skipBlanks()
            guard self.take(":") else { throw self.error("a colon is missing") }
            members.append(.init(name, try self.readValue()))
            self.skipBlanks()
        } while self.take(",")
        guard self.take("}") else { throw self.error("the object is not terminated") }
        return .object(members)
    }

    private mutating func readArray() throws(JSONSyntaxError) -> JSONValue {
        var elements: [JSONValue] = []
        self.skipBlanks()
        if self.take("]") { return .array([]) }
        repeat {
            elements.append(try self.readValue())
            self.skipBlanks()
        } while self.take(",")
        guard self.take("]") else { throw self.error("the array is not terminated") }
        return .array(elements)
    }

    private mutating func readWord(_ word: StaticString, _ value: JSONValue) throws(JSONSyntaxError) -> JSONValue {
        let end = self.position + word.utf8CodeUnitCount
        guard end <= self.bytes.count, self.bytes[self.position..<end].elementsEqual(word.description.utf8) else {
            throw self.error("unexpected character")
        }
        self.position = end
        return value
    }

    private mutating func readNumber() throws(JSONSyntaxError) -> JSONValue {
        let start = self.position
        _ = self.take("-")
        if !self.take("0") { try self.readDigits() }
        if self.take(".") { try self.readDigits() }
        if self.take("e") || self.take("E") {
            if !self.take("+") { _ = self.take("-") }
            try self.readDigits()
        }
        return .number(digits: String(decoding: self.bytes[start..<self.position], as: UTF8.self))
    }

    private mutating func readDigits() throws(JSONSyntaxError) {
        let start = self.position
        while self.peek?.isDigit == true { self.position += 1 }
        guard self.position > start else { throw self.error("a digit is missing") }
    }

    private mutating func readString() throws(JSONSyntaxError) -> String {
        self.position += 1
        var text: [UInt8] = []
        while true {
            // Appending byte by byte would take most of the time of reading a page.
            let start = self.position
            while let byte = self.peek, byte.isPlainInString { self.position += 1 }
            text += self.bytes[start..<self.position]
            if self.take("\"") { break }
            guard let byte = self.peek else { throw self.error("the string is not terminated") }
            guard byte == UInt8(ascii: "\\") else { throw self.error("a control character in a string") }
            try self.readEscape(into: &text)
        }
        guard let string = String(strict: text) else { throw self.error("the string is not UTF-8") }
        return string
    }

    private mutating func readEscape(into text: inout [UInt8]) throws(JSONSyntaxError) {
        self.position += 1
        guard let byte = self.peek else { throw self.error("the string is not terminated") }
        self.position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): text.append(contentsOf: String(Character(try self.readScalar())).utf8)
        default: throw self.error("unknown escape")
        }
    }

    /// Reads the scalar after `\u`; a surrogate pair is one scalar. A lone surrogate has no form
    /// in UTF-8 and is refused.
    private mutating func readScalar() throws(JSONSyntaxError) -> Unicode.Scalar {
        let high = try self.readHex()
        if let scalar = Unicode.Scalar(high) { return scalar }
        guard high < 0xDC00, self.take("\\"), self.take("u") else { throw self.error("incomplete surrogate pair") }
        let low = try self.readHex()
        guard
            (0xDC00...0xDFFF).contains(low),
            let scalar = Unicode.Scalar(0x10000 + (high - 0xD800) << 10 + (low - 0xDC00))
        else {
            throw self.error("incomplete surrogate pair")
        }
        return scalar
    }

    private mutating func readHex() throws(JSONSyntaxError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = self.peek?.hexDigitValue else {
                throw self.error("four hexadecimal digits are missing")
            }
            value = value << 4 | UInt32(digit)
            self.position += 1
        }
        return value
    }

    private var peek: UInt8? {
        self.position < self.bytes.count ? self.bytes[self.position] : nil
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard self.peek == UInt8(ascii: character) else { return false }
        self.position += 1
        return true
    }

    private mutating func skipBlanks() {
        while let byte = self.peek, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { self.position += 1 }
    }

    private func error(_ reason: String) -> JSONSyntaxError {
        JSONSyntaxError(reason: reason, offset: self.position)
    }
}

extension UInt8 {
    /// Whether the byte stands for itself in a JSON string.
    fileprivate var isPlainInString: Bool {
        self >= 0x20 && self != UInt8(ascii: "\"") && self != UInt8(ascii: "\\")
    }
}

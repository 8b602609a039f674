internal import PushAPI
internal import SocketHTTP

/// The JSON object in a request's body, whose members a handler reads one after the other. Upper
/// and lower case are equal in the members' names; unknown members are ignored.
struct JSONBody {
    private let json: JSONValue

    /// Parses a body. Throws an `invalid-json` problem unless the bytes are a JSON object.
    init(_ bytes: [UInt8]) throws(Problem) {
        let json = try JSONValue(body: bytes)
        guard case .object = json else { throw Problem(.invalidJSON, "the body is \(json.kind), not an object") }
        self.json = json
    }

    init(_ object: JSONValue) {
        self.json = object
    }

    /// A member's value; `nil` if it is absent or null.
    func value(_ name: String) -> JSONValue? {
        let value = self.json[name]
        return value == .null ? nil : value
    }

    /// Throws a problem if one of these members is null.
    func refuseNull(_ names: [String]) throws(Problem) {
        guard let name = names.first(where: { self.json[$0] == .null }) else { return }
        throw Problem(.invalidMember, "\(name) must not be null; leave it out instead")
    }

    func string(_ name: String) throws(Problem) -> String? {
        guard let value = self.value(name) else { return nil }
        guard let text = value.text else { throw self.wrongType(name, value, "a string") }
        return text
    }

    func requiredString(_ name: String) throws(Problem) -> String {
        guard let text = try self.string(name) else { throw Problem(.invalidMember, "\(name) is missing") }
        return text
    }

    func strings(_ name: String) throws(Problem) -> [String]? {
        guard let value = self.value(name) else { return nil }
        guard case .array(let elements) = value else { throw self.wrongType(name, value, "an array of strings") }
        var strings: [String] = []
        for element in elements {
            guard let text = element.text else { throw self.wrongType(name, element, "an array of strings") }
            strings.append(text)
        }
        return strings
    }

    func array(_ name: String) throws(Problem) -> [JSONValue]? {
        guard let value = self.value(name) else { return nil }
        guard case .array(let elements) = value else { throw self.wrongType(name, value, "an array") }
        return elements
    }

    func integers(_ name: String) throws(Problem) -> [Int]? {
        guard let value = self.value(name) else { return nil }
        guard case .array(let elements) = value else { throw self.wrongType(name, value, "an array of integers") }
        var integers: [Int] = []
        for element in elements {
            guard let number = element.integer else { throw self.wrongType(name, element, "an array of integers") }
            integers.append(number)
        }
        return integers
    }

    func integer(_ name: String) throws(Problem) -> Int? {
        guard let value = self.value(name) else { return nil }
        guard let number = value.integer else { throw self.wrongType(name, value, "an integer") }
        return number
    }

    func bool(_ name: String) throws(Problem) -> Bool? {
        guard let value = self.value(name) else { return nil }
        guard case .bool(let bool) = value else { throw self.wrongType(name, value, "true or false") }
        return bool
    }

    private func wrongType(_ name: String, _ value: JSONValue, _ wanted: String) -> Problem {
        guard case .number(let digits) = value, wanted.contains("integer") else {
            return Problem(.invalidMember, "\(name) must be \(wanted), not \(value.kind)")
        }
        // The message contains the digits: the value's kind, "a number", would not say what is
        // wrong.
        return Problem(.invalidMember, "\(name) must be \(wanted), not \(digits.prefix(24))")
    }
}

extension JSONValue {
    /// Parses a body. If the bytes are not JSON, throws an `invalid-json` problem that says at
    /// which byte the error is.
    init(body bytes: [UInt8]) throws(Problem) {
        do throws(JSONSyntaxError) {
            // A list nests a payload two levels deeper than its request did; clients read 64
            // levels.
            self = try JSONValue(reading: bytes, maximumDepth: 62)
        } catch {
            throw Problem(.invalidJSON, "\(error)\(Self.hint(at: error.offset, in: bytes))")
        }
    }

    /// The advice against the mistake that the body's sender has probably made.
    private static func hint(at offset: Int, in bytes: [UInt8]) -> String {
        // RFC 8259 section 8.1 demands UTF-8, and allows a parser to refuse a byte order mark.
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { return "; remove the byte order mark" }
        // A text in UTF-16 or UTF-32 begins with a byte order mark, or with an ASCII character
        // that has a zero byte beside it.
        if [[0xFE, 0xFF], [0xFF, 0xFE]].contains(Array(bytes.prefix(2))) || bytes.prefix(2).contains(0) {
            return "; send it in UTF-8"
        }
        // If the first character is wrong, as in `curl -d hello`, the sender has probably
        // forgotten the quotes.
        return offset == 0 && !bytes.isEmpty ? "; put a text in double quotes" : ""
    }
}

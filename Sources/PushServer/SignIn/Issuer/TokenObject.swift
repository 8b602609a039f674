internal import Foundation
internal import PushAPI

/// A JSON object in a token, which is the token's header or its claims. It is read strictly.
///
/// Unlike in the API, the names of members are compared byte for byte: two programs that read the
/// same token must not see different claims.
struct TokenObject: Sendable {
    /// The largest number of nested levels.
    static let maximumDepth = 8
    /// The last time that a token may have: the end of the year 9999.
    private static let maximumTime: Int64 = 253_402_300_799

    private let members: [JSONValue.Member]

    /// Reads the object. `part` is its name in the texts of faults. Throws for values other than
    /// an object, for a name that occurs twice in an object at any depth, and for more than
    /// `maximumDepth` levels.
    init(_ bytes: [UInt8], _ part: String) throws(TokenFault) {
        let value: JSONValue
        do throws(JSONSyntaxError) {
            value = try JSONValue(reading: bytes)
        } catch {
            throw .form("the \(part) is not JSON: \(error)")
        }
        guard case .object(let members) = value else { throw .form("the \(part) is not an object") }
        guard Self.isPlain(value, depth: Self.maximumDepth) else {
            throw .form("the \(part) has a name twice, or more than \(Self.maximumDepth) levels")
        }
        self.members = members
    }

    private init(members: [JSONValue.Member]) {
        self.members = members
    }

    /// The value of the member with exactly that name.
    subscript(_ name: String) -> JSONValue? {
        self.members.first { $0.name.utf8.elementsEqual(name.utf8) }?.value
    }

    /// The value of a member that is a text; `nil` if the member is missing. Throws for a value of
    /// another type.
    func text(_ name: String) throws(TokenFault) -> String? {
        guard let value = self[name] else { return nil }
        guard let text = value.text else { throw .claim("\(name) must be a string") }
        return text
    }

    /// The value of a member that is a time in seconds since 1970 (RFC 7519 section 2), without
    /// the fraction; `nil` if the member is missing. Throws for all other values.
    func time(_ name: String) throws(TokenFault) -> Date? {
        guard let value = self[name] else { return nil }
        guard case .number(let digits) = value else { throw .claim("\(name) must be a number") }
        let parts = digits.utf8.split(separator: UInt8(ascii: "."), maxSplits: 1)
        guard
            let whole = parts.first, let seconds = Int64(Substring(whole)), (0...Self.maximumTime).contains(seconds),
            parts.count == 1 || parts[1].allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { throw .claim("\(name) must be seconds since 1970") }
        return Date(timeIntervalSince1970: TimeInterval(seconds))
    }

    /// The texts of a claim: the elements of an array, or the words of a string, as in `scope`.
    /// Empty if the claim is missing or has another type.
    ///
    /// `path` is the claim's name, or a path through nested objects, with dots between the names,
    /// such as `realm_access.roles`.
    func texts(at path: String) -> [String] {
        switch self.value(at: path) {
        case .string(let text): text.split(separator: " ").map(String.init)
        case .array(let elements): elements.compactMap(\.text)
        default: []
        }
    }

    /// The value of the member with that name, or at that path through nested objects.
    private func value(at path: String) -> JSONValue? {
        if let value = self[path] { return value }
        let parts = path.split(separator: ".", maxSplits: 1)
        guard parts.count == 2, case .object(let members) = self[String(parts[0])] else { return nil }
        return TokenObject(members: members).value(at: String(parts[1]))
    }

    private static func isPlain(_ value: JSONValue, depth: Int) -> Bool {
        switch value {
        case .array(let elements):
            return depth > 0 && elements.allSatisfy { self.isPlain($0, depth: depth - 1) }
        case .object(let members):
            return depth > 0 && Set(members.map(\.name)).count == members.count
                && members.allSatisfy { self.isPlain($0.value, depth: depth - 1) }
        case .null, .bool, .number, .string: return true
        }
    }
}

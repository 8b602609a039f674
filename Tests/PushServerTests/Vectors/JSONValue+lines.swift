import PushAPI

/// The name and the value of an object's member, as tests write them.
typealias VectorMember = (String, JSONValue)

extension JSONValue {
    static func members(_ members: VectorMember...) -> JSONValue {
        .object(members.map { .init($0.0, $0.1) })
    }

    /// A string, or null.
    static func optional(_ text: String?) -> JSONValue {
        text.map { .string($0) } ?? .null
    }

    /// JSON text with a line for each member and element, except for arrays of numbers and of
    /// pairs of texts.
    var lines: String { self.lines(indent: "") + "\n" }

    private func lines(indent: String) -> String {
        let inner = indent + "  "
        switch self {
        case .object(let members) where !members.isEmpty:
            let lines = members.map { member in
                let name = String(decoding: JSONValue.string(member.name).bytes, as: UTF8.self)
                return "\(inner)\(name): \(member.value.lines(indent: inner))"
            }
            return "{\n\(lines.joined(separator: ",\n"))\n\(indent)}"
        case .array(let elements) where elements.contains { !$0.isScalar } || elements.count > 2 && !self.isOfNumbers:
            return "[\n\(elements.map { inner + $0.lines(indent: inner) }.joined(separator: ",\n"))\n\(indent)]"
        case .array(let elements): return "[\(elements.map { $0.lines(indent: inner) }.joined(separator: ", "))]"
        default: return String(decoding: self.bytes, as: UTF8.self)
        }
    }

    private var isScalar: Bool {
        switch self {
        case .array, .object: false
        default: true
        }
    }

    private var isOfNumbers: Bool {
        guard case .array(let elements) = self else { return false }
        return elements.allSatisfy { $0.integer != nil }
    }
}

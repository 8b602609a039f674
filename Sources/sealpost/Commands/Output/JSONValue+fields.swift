import PushAPI
import PushApplication

/// The members of an answer, as a command prints them.
extension JSONValue {
    /// The text of a member; empty if it is missing.
    func field(_ name: String) -> String { self[name]?.text ?? "" }

    /// The elements of a member that is an array; empty if it is missing.
    func elements(_ name: String) -> [JSONValue] {
        guard case .array(let elements)? = self[name] else { return [] }
        return elements
    }

    /// The texts of a member that is an array; empty if it is missing.
    func texts(_ name: String) -> [String] {
        guard case .array(let elements)? = self[name] else { return [] }
        return elements.compactMap(\.text)
    }
}

import PushAPI
import PushApplication

/// The members of an answer, as a command prints them.
extension JSONValue {
    /// The text of a member; empty if there is none.
    func field(_ name: String) -> String { self[name]?.text ?? "" }

    /// The elements of a member that is an array; none if it is not there.
    func elements(_ name: String) -> [JSONValue] {
        guard case .array(let elements)? = self[name] else { return [] }
        return elements
    }

    /// The texts of a member that is an array; none if it is not there.
    func texts(_ name: String) -> [String] {
        guard case .array(let elements)? = self[name] else { return [] }
        return elements.compactMap(\.text)
    }
}

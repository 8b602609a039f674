internal import PushAPI
internal import PushCore
internal import SocketHTTP

/// The check for `Prefer: handling=strict`: a request may have only parameters and members that
/// its route declares.
///
/// The check runs before the route's handler and depends only on the route's declaration. So no
/// handler can forget it, and a refused request has had no effect.
struct StrictHandling: Sendable {
    /// The names of the query's parameters that the route reads.
    let parameters: [String]
    /// The names of the body's members that the route reads.
    let members: [String]

    init(route: Route) {
        self.parameters = route.parameters
        self.members = route.body.members
    }

    /// Creates a check for the members of an object only.
    init(members: [String]) {
        self.parameters = []
        self.members = members
    }

    /// Throws an `unknown-parameter` problem that names the first unknown parameter of the query.
    func check(query: String?) throws(Problem) {
        for name in try Query(query).names where !self.parameters.contains(name) {
            throw Problem(.unknownParameter, Self.detail("parameter", name, known: self.parameters))
        }
    }

    /// Throws an `unknown-member` problem that names the first unknown member of the body.
    ///
    /// The check compares only the members of the body itself, not those of nested objects: the
    /// sender determines the content of `Payload`, and the provider determines the content of a
    /// handle. Text that is not JSON and values of the wrong type are not checked here; the
    /// route's handler refuses them.
    func check(body: [UInt8]) throws(Problem) {
        // Invalid JSON has no members to check; the handler refuses it.
        guard !body.isEmpty, let json = try? JSONValue(reading: body) else { return }
        try self.check(json)
    }

    /// Throws an `unknown-member` problem as `check(body:)` does; values other than objects have
    /// no members.
    func check(_ json: JSONValue) throws(Problem) {
        guard case .object(let members) = json else { return }
        let known = Set(self.members.map { $0.lowercased() })
        for member in members where !known.contains(member.name.lowercased()) {
            throw Problem(.unknownMember, Self.detail("member", member.name, known: self.members))
        }
    }

    // MARK: - Private

    /// The largest number of characters of an unknown name that an answer repeats. For a longer
    /// name, the server also does not search for a known name that is similar.
    private static let longest = 40

    private static func detail(_ kind: String, _ name: String, known: [String]) -> String {
        let start = "the \(kind) \"\(name.prefix(Self.longest))\" is unknown"
        if name.utf8.count <= Self.longest, let near = known.nearest(to: name) {
            return "\(start); did you mean \(near)?"
        }
        if known.isEmpty { return "\(start); this request has no \(kind)s" }
        return "\(start); known are \(known.joined(separator: ", "))"
    }
}

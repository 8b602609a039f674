internal import PushAPI
internal import SocketHTTP

/// The check that `Prefer: handling=strict` asks for: a request may have only names that its route declares.
///
/// It runs before the route and knows nothing but the route's declaration, so that no handler can forget it, and a
/// refused request has had no effect.
struct StrictHandling: Sendable {
    /// The names of the query's parameters that the route reads.
    let parameters: [String]
    /// The names of the body's members that the route reads.
    let members: [String]

    init(route: Route) {
        self.parameters = route.parameters
        self.members = route.members
    }

    /// The check of an object's members alone.
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
    /// Only the members of the body itself are checked: what is in `Payload` belongs to the sender, and what is in a
    /// handle to the provider. The route itself refuses what is not JSON, or is of the wrong kind.
    func check(body: [UInt8]) throws(Problem) {
        // A text that is no JSON has no members.
        guard !body.isEmpty, let json = try? JSONValue(reading: body) else { return }
        try self.check(json)
    }

    /// Throws an `unknown-member` problem as `check(body:)` does; what is no object has no members.
    func check(_ json: JSONValue) throws(Problem) {
        guard case .object(let members) = json else { return }
        let known = Set(self.members.map { $0.lowercased() })
        for member in members where !known.contains(member.name.lowercased()) {
            throw Problem(.unknownMember, Self.detail("member", member.name, known: self.members))
        }
    }

    // MARK: - Private

    /// The most characters of a name that an answer repeats.
    private static let longest = 40

    private static func detail(_ kind: String, _ name: String, known: [String]) -> String {
        let start = "the \(kind) \"\(name.prefix(Self.longest))\" is unknown"
        if let near = Self.nearest(to: name, in: known) { return "\(start); did you mean \(near)?" }
        if known.isEmpty { return "\(start); this request has no \(kind)s" }
        return "\(start); known are \(known.joined(separator: ", "))"
    }

    /// The known name that differs in at most two letters, of short names in one; `nil` if there is none.
    private static func nearest(to name: String, in known: [String]) -> String? {
        guard name.utf8.count <= Self.longest else { return nil }
        let bound = name.utf8.count <= 4 ? 1 : 2
        let found = known.map { (name: $0, distance: Self.distance(name, $0)) }.min { $0.distance < $1.distance }
        guard let found, found.distance <= bound else { return nil }
        return found.name
    }

    /// How many letters must be added, left out or replaced to turn one name into the other, whatever their case.
    private static func distance(_ first: String, _ second: String) -> Int {
        let (first, second) = (Array(first.lowercased().utf8), Array(second.lowercased().utf8))
        var row = Array(0...second.count)
        for (number, letter) in first.enumerated() {
            var diagonal = number
            row[0] = number + 1
            for index in second.indices {
                let replaced = diagonal + (letter == second[index] ? 0 : 1)
                diagonal = row[index + 1]
                row[index + 1] = min(replaced, min(row[index], row[index + 1]) + 1)
            }
        }
        return row[second.count]
    }
}

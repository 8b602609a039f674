internal import HTTPTypes
internal import PushAPI
internal import SocketHTTP

/// Shows load balancers whether the process is alive, and whether it can store and return
/// notifications.
struct HealthHandler: Handler {
    /// The reasons why the server cannot store or return notifications; empty when it is ready.
    /// Strangers can read these texts.
    ///
    /// A provider that accepts no pushes is not a reason: if the load balancer removed the server
    /// because of such a provider, the server could not return notifications either.
    let troubles: @Sendable () -> [String]
    /// Faults that an operator must repair, although the server can serve requests. Strangers can
    /// read these texts.
    let warnings: @Sendable () -> [String]
    /// Whether the database cannot be used until an operator acts.
    let isUnusable: @Sendable () -> Bool

    var routes: [Route] {
        [
            Route(.get, "/healthz", .anybody, hosts: .any, always: { _ in Self.alive }),
            Route(.get, "/readyz", .anybody, hosts: .any, always: self.showReadiness),
        ]
    }

    static var alive: Response { self.response("alive") }

    private func showReadiness(_ context: RequestContext) throws -> Response {
        if let problem = Self.problem(self.troubles(), isUnusable: self.isUnusable()) { throw problem }
        return Self.response("ready", self.warnings())
    }

    /// The problem of a server with these troubles; `nil` without troubles.
    static func problem(_ troubles: [String], isUnusable: Bool) -> Problem? {
        guard !troubles.isEmpty else { return nil }
        return Problem(isUnusable ? .databaseUnusable : .busy, troubles.joined(separator: "; "))
    }

    private static func response(_ status: String, _ warnings: [String] = []) -> Response {
        var members: [JSONValue.Member] = [.init("Status", .string(status))]
        if !warnings.isEmpty { members.append(.init("Warnings", .array(warnings.map { .string($0) }))) }
        return Response(uncached: .object(members))
    }
}

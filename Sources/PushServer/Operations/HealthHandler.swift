internal import HTTPTypes
internal import PushAPI
internal import PushStore
internal import SocketHTTP

/// Shows load balancers whether the process is alive, and whether it can store and return
/// notifications.
struct HealthHandler: Handler {
    let daemon: Daemon
    let store: any StoreHealth

    var routes: [Route] {
        [
            Route(.get, "/healthz", .anybody, hosts: .any, always: { _ in Self.alive }),
            Route(.get, "/readyz", .anybody, hosts: .any, always: self.showReadiness),
        ]
    }

    static var alive: Response { self.response("alive") }

    private func showReadiness(_ context: RequestContext) throws -> Response {
        if let problem = Self.problem(self.daemon.troubles(), isUnusable: self.store.isUnusable) { throw problem }
        return Self.response("ready", self.daemon.warnings())
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

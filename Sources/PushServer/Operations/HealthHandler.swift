internal import HTTPTypes
internal import PushAPI
internal import SocketHTTP

/// Shows load balancers whether the process lives, and whether it is ready to serve.
struct HealthHandler: Handler {
    /// The reasons why the server cannot store or return notifications; empty when it is ready.
    /// Strangers can read them.
    ///
    /// A provider that accepts no pushes is not among them: a server that the load balancer takes
    /// out for that reason could not return notifications either.
    let troubles: @Sendable () -> [String]
    /// Faults that an operator must repair although the server is ready. Strangers can read them.
    let warnings: @Sendable () -> [String]

    var routes: [Route] {
        [
            Route(.get, "/healthz", .anybody, hosts: .any, always: { _ in Self.alive }),
            Route(.get, "/readyz", .anybody, hosts: .any, always: self.showReadiness),
        ]
    }

    static var alive: Response { self.response("alive") }

    private func showReadiness(_ context: RequestContext) throws -> Response {
        let troubles = self.troubles()
        guard troubles.isEmpty else { throw Problem(.busy, troubles.joined(separator: "; ")) }
        return Self.response("ready", self.warnings())
    }

    private static func response(_ status: String, _ warnings: [String] = []) -> Response {
        var members: [JSONValue.Member] = [.init("Status", .string(status))]
        if !warnings.isEmpty { members.append(.init("Warnings", .array(warnings.map { .string($0) }))) }
        return Response(uncached: .object(members))
    }
}

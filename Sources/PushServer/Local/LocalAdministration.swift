internal import HTTPTypes
package import Logging
internal import PushAPI
internal import PushCore
internal import PushStore
package import SocketHTTP

/// Answers the requests of the local admin socket: those of administrators' routes, for callers whom the kernel has named.
///
/// It is a responder of its own, behind a listener of its own: no request that comes another way gets here, whatever it says.
package final class LocalAdministration: Responder {
    /// The host of its requests. A proxy that passes on to the socket by mistake writes another one.
    package static let host = "sealpost.local"

    private let server: PushServer
    private let admits: @Sendable (UInt32) -> Bool
    private let nameOf: @Sendable (UInt32) -> String
    private let logger: Logger

    /// `admits` says which users' processes are served, and `nameOf` how the audit names a user.
    package init(
        _ server: PushServer,
        admits: @escaping @Sendable (UInt32) -> Bool,
        nameOf: @escaping @Sendable (UInt32) -> String,
        logger: Logger
    ) {
        self.server = server
        self.admits = admits
        self.nameOf = nameOf
        self.logger = logger
    }

    package func respond(to request: Request) -> Reply {
        self.server.respond(toLocal: request) { () throws(Problem) in try self.caller(of: request) }
    }

    package func refuse(_ refusal: Refusal, head: RequestHead?) -> Response {
        self.server.refuse(refusal, head: head)
    }

    // MARK: - Private

    /// Throws a `forbidden` problem for the process of a user who is not admitted, and for what a browser or a proxy has sent.
    private func caller(of request: Request) throws(Problem) -> Caller {
        guard case .process(let user) = request.peer, self.admits(user) else {
            self.logger.warning("local request refused", metadata: ["user": "\(Self.user(of: request))"])
            throw Problem(.forbidden, "the local admin socket is for root and for the user that the server runs as")
        }
        try Self.check(request.head)
        let name = Username.local(self.nameOf(user))
        return Caller(User(id: 0, name: name, role: .admin, apps: [], passwordNumber: 0, isDisabled: false))
    }

    private static func user(of request: Request) -> String {
        if case .process(let user) = request.peer { "\(user)" } else { "unknown" }
    }

    /// Whoever may connect decides nothing for others: a proxy that runs as root must not make strangers administrators.
    private static func check(_ head: RequestHead) throws(Problem) {
        for name in self.foreign where head.count(of: name) > 0 {
            throw Problem(.forbidden, "the local admin socket takes no requests of browsers and proxies: \(name)")
        }
        guard head.authority == self.host else {
            throw Problem(.forbidden, "the local admin socket takes requests for the host \(self.host) only")
        }
    }

    /// What browsers and reverse proxies add, and the credentials that they pass on.
    private static let foreign: [HTTPField.Name] = [
        .authorization, .cookie, .forwarded, .origin, .referer, .secFetchDest, .secFetchMode, .secFetchSite, .via,
        .xForwardedFor, .xForwardedHost, .xForwardedProto, .xRealIP,
    ]
}

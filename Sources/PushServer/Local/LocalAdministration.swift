internal import HTTPTypes
package import Logging
internal import PushAPI
internal import PushCore
package import SocketHTTP

/// Answers the requests of the local admin socket: it has the routes of administrators, and serves
/// callers that the kernel has identified.
///
/// Only the listener of this socket passes requests to this object: requests to other listeners
/// never reach it, whatever fields the requests have.
package final class LocalAdministration: Responder {
    /// The host that requests must name. A proxy that forwards requests to the socket by mistake
    /// sends another host.
    package static let host = "sealpost.local"

    private let server: PushServer
    private let admits: @Sendable (UInt32) -> Bool
    private let nameOf: @Sendable (UInt32) -> String
    private let logger: Logger

    /// `admits` decides which of the machine's users may send requests; `nameOf` returns the name
    /// of such a user for the audit.
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
        self.server.respondLocally(to: request) { () throws(Problem) in try self.caller(of: request) }
    }

    package func refuse(_ refusal: Refusal, head: RequestHead?) -> Response {
        self.server.refuse(refusal, head: head)
    }

    // MARK: - Private

    /// Returns an administrator with the name of the machine's user who runs the sending process.
    ///
    /// Throws a `forbidden` problem for processes of users who are not admitted, and for requests
    /// of browsers and proxies.
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

    /// Refuses requests that a process passes on for others: a proxy that runs as root must not
    /// make strangers administrators.
    private static func check(_ head: RequestHead) throws(Problem) {
        for name in self.foreign where head.count(of: name) > 0 {
            throw Problem(
                .forbidden,
                "the local admin socket refuses requests of browsers and proxies, which have the field \(name)"
            )
        }
        guard head.authority == self.host else {
            throw Problem(.forbidden, "the local admin socket accepts only requests for the host \(self.host)")
        }
    }

    /// The fields that browsers and reverse proxies add, and the credentials that they pass on.
    private static let foreign: [HTTPField.Name] = [
        .authorization, .cookie, .forwarded, .origin, .referer, .secFetchDest, .secFetchMode, .secFetchSite, .via,
        .xForwardedFor, .xForwardedHost, .xForwardedProto, .xRealIP,
    ]
}

internal import Foundation
internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// One request on its way through a route.
struct Call {
    let request: Request
    /// `nil` only where anybody may call.
    let caller: Caller?
    /// What stands in the path where the route has `{id}`.
    let parameter: String
    let now: Date

    /// The calling user. Throws an `unauthorized` problem where there is none.
    var user: User {
        get throws(Problem) { try self.known.user }
    }

    /// The token that the caller has shown; `nil` if it was a password. Throws as `user` does.
    var token: TokenGrant? {
        get throws(Problem) { try self.known.token }
    }

    /// What the caller did, for the audit.
    func record(_ action: AuditRecord.Action, of subject: String, detail: String = "") throws(Problem) -> AuditRecord {
        let actor = AuditRecord.Actor(
            name: try self.user.name,
            token: try self.token?.prefix,
            client: self.request.client.description,
            request: RequestID(self.request.head).description
        )
        return AuditRecord(action, of: subject, detail: detail, by: actor, at: self.now)
    }

    private var known: Caller {
        get throws(Problem) {
            guard let caller else { throw Problem(.unauthorized) }
            return caller
        }
    }
}

/// Who may use a route: whoever is not named, may not.
enum Access: Sendable, Hashable {
    case anybody
    /// Whoever has the role, or a higher one; with a token only if it has the scopes, too.
    case atLeast(Role, Scopes)
}

/// A method and a path, who may, and what happens. A class, so that looking for one copies none.
final class Route: Sendable {
    let method: HTTPRequest.Method
    /// `{id}` stands for any one segment.
    let path: String
    let access: Access
    /// Answers what needs no waiting. `nil`: `run` answers, and only then.
    let atOnce: @Sendable (PushServer, Call) throws -> Response?
    let run: @Sendable (PushServer, Call) async throws -> Response

    /// What stands before and after the parameter.
    fileprivate let prefix: [UInt8]
    private let suffix: [UInt8]
    fileprivate let hasParameter: Bool

    init(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ access: Access,
        atOnce: @escaping @Sendable (PushServer, Call) throws -> Response? = { _, _ in nil },
        _ run: @escaping @Sendable (PushServer, Call) async throws -> Response
    ) {
        self.method = method
        self.path = path
        self.access = access
        self.atOnce = atOnce
        self.run = run
        let parts = path.split(separator: "{id}", omittingEmptySubsequences: false)
        self.prefix = Array(parts[0].utf8)
        self.suffix = parts.count > 1 ? Array(parts[1].utf8) : []
        self.hasParameter = parts.count > 1
    }

    /// One that never needs to wait.
    convenience init(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ access: Access,
        always answer: @escaping @Sendable (PushServer, Call) throws -> Response
    ) {
        self.init(method, path, access, atOnce: answer) { try answer($0, $1) }
    }

    /// The parameter, empty if the route has none; `nil` if the path is another's.
    ///
    /// Fixed segments are compared without case, as ASP.NET does with the names of controllers.
    func parameter(of path: UnsafeBufferPointer<UInt8>) -> Slice<UnsafeBufferPointer<UInt8>>? {
        let length = path.count - self.prefix.count - self.suffix.count
        guard
            self.hasParameter ? length > 0 : length == 0,
            path.has(self.prefix, at: 0),
            path.has(self.suffix, at: path.count - self.suffix.count)
        else { return nil }
        let parameter = path[self.prefix.count..<self.prefix.count + length]
        return parameter.contains(UInt8(ascii: "/")) ? nil : parameter
    }
}

/// All routes; what is not here does not exist.
struct RouteTable: Sendable {
    enum Match {
        case route(Route, parameter: String)
        case wrongMethod(allowed: [String], isOpen: Bool)
        case nothing(isOpen: Bool)

        /// Whether the caller must be known before anything is answered.
        var needsCaller: Bool {
            switch self {
            case .route(let route, _): route.access != .anybody
            case .wrongMethod(_, let isOpen), .nothing(let isOpen): !isOpen
            }
        }
    }

    static let all = RouteTable(
        routes: PushServer.registrationRoutes + PushServer.notificationRoutes + PushServer.listRoutes
            + PushServer.readingRoutes
            + PushServer.sessionRoutes + PushServer.tokenRoutes + PushServer.userRoutes + PushServer.webPushRoutes
            + PushServer.streamRoutes
            + PushServer.dismissalRoutes + PushServer.deliveryRoutes + PushServer.healthRoutes
            + PushServer.metricRoutes + PushServer.auditRoutes + PushServer.signatureRoutes
            + PushServer.descriptionRoutes
    )

    let routes: [Route]

    /// Below this nobody learns without credentials what there is and what not.
    private static let closed = Array("/api".utf8)

    func match(method: HTTPRequest.Method, path: String) -> Match {
        // HEAD is GET without the body, which the HTTP server leaves out.
        let method = method == .head ? .get : method
        var path = path
        return path.withUTF8 { path in
            var allowed: [String] = []
            var isOpen = !path.has(Self.closed, at: 0)
            for route in self.routes {
                guard let parameter = route.parameter(of: path), !self.isOthers(parameter, in: path) else { continue }
                if route.method == method {
                    return .route(route, parameter: Self.decode(parameter))
                }
                allowed.append(route.method.rawValue)
                if route.method == .get { allowed.append("HEAD") }
                isOpen = isOpen && route.access == .anybody
            }
            return allowed.isEmpty ? .nothing(isOpen: isOpen) : .wrongMethod(allowed: allowed, isOpen: isOpen)
        }
    }

    /// Whether what looks like a parameter is the last word of a path without one, such as `/api/notifications/read`, which
    /// then belongs to its own routes only. Most ids begin with digits, and none of these words does.
    private func isOthers(
        _ parameter: Slice<UnsafeBufferPointer<UInt8>>,
        in path: UnsafeBufferPointer<UInt8>
    ) -> Bool {
        guard let first = parameter.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else {
            return false
        }
        return self.routes.contains {
            !$0.hasParameter && $0.prefix.count == path.count && path.has($0.prefix, at: 0)
        }
    }

    /// Decodes a parameter, which hardly ever needs it; empty if it is not percent-encoded UTF-8.
    private static func decode(_ parameter: Slice<UnsafeBufferPointer<UInt8>>) -> String {
        let text = String(decoding: parameter, as: UTF8.self)
        return parameter.contains(UInt8(ascii: "%")) ? text.removingPercentEncoding ?? "" : text
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Whether `text`, which must be in lower case, stands there in any case of its ASCII letters.
    fileprivate func has(_ text: [UInt8], at start: Int) -> Bool {
        guard text.count <= self.count - start else { return false }
        for index in text.indices {
            let (own, sent) = (text[index], self[start + index])
            guard
                own == sent || (own == sent | 0x20 && (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(sent))
            else { return false }
        }
        return true
    }
}

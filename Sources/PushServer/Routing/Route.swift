internal import Bytes
internal import Foundation
internal import Glibc
internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import SocketHTTP

/// The callers that may use a route.
enum Access: Sendable, Hashable {
    case anybody
    /// Callers whose role includes the given role; their token must have the given scopes. If
    /// `seeing` is not empty, callers who may see all users may use the route, too; their token
    /// must have the scopes `seeing`.
    case atLeast(Role, Scopes, seeing: Scopes = [])
}

/// The hosts that a route accepts in addition to those in the configuration's `server.names`. For
/// example, health checks and Prometheus use the address of one server.
enum OtherHosts: Sendable {
    case none
    /// Hosts that are IP addresses. Accepting them is safe: if a foreign page lets its own host
    /// name resolve to this server, its requests name that host name, not an address.
    case addresses
    case any

    /// Whether the route accepts the host. `host` is `nil` if the field `Host` is missing or not
    /// valid.
    func includes(_ host: String?) -> Bool {
        switch self {
        case .none: false
        case .addresses: host.map { $0.hasPrefix("[") || IPAddress($0) != nil } ?? false
        case .any: true
        }
    }
}

/// Answers the requests of some routes. A handler has only the properties that these routes need.
protocol Handler: Sendable {
    var routes: [Route] { get }
}

/// The body that a route reads.
struct RouteBody: Sendable, ExpressibleByArrayLiteral {
    /// The names of the members of the body's object that the route reads. A request with strict
    /// handling may have no other members.
    let members: [String]
    /// Whether the handler itself checks the names of the body's members in strict handling,
    /// because it reads a long body apart from the event loop.
    let isCheckedByHandler: Bool
    /// The longest body that the server reads from a caller who is not authenticated, in bytes.
    let strangersLimit: Int

    init(_ members: [String], isCheckedByHandler: Bool = false, strangersLimit: Int = 1024) {
        (self.members, self.isCheckedByHandler) = (members, isCheckedByHandler)
        self.strangersLimit = strangersLimit
    }

    init(arrayLiteral members: String...) { self.init(members) }
}

/// A method and a path, with the callers that may use them and the code that answers. It is a
/// class, so that the search for a matching route copies no routes.
final class Route: Sendable {
    let method: HTTPRequest.Method
    /// `{id}` stands for any one segment, and `{topic}` at the end for another one.
    let path: String
    let access: Access
    let hosts: OtherHosts
    /// The names of the query's parameters that the route reads. A request with strict handling
    /// may have no other parameters.
    let parameters: [String]
    let body: RouteBody
    /// The longest body that the server reads from a caller who is not authenticated, in bytes;
    /// `nil` for a route whose callers are always authenticated.
    let strangersBody: Int?
    /// Whether the server charges the request to the quota of changes. It charges each request
    /// that may leave something in the database, at least an entry of the audit. The end of a
    /// session is not charged, so that everybody can always sign out; the charge for the session's
    /// beginning covers both.
    let isChange: Bool
    /// Begins to answer a request; does not block.
    let begin: @Sendable (RequestContext) throws -> Reply
    let meter = RequestMeter()

    /// The parts of the path before and after the first parameter; a second parameter is left out.
    let prefix: [UInt8]
    private let suffix: [UInt8]
    /// Whether the fixed segments of the path may be spelled in upper or lower case. The case does
    /// not matter in the paths of Microsoft's tutorial, because ASP.NET ignores the case in the
    /// names of controllers. All other paths must match exactly, since the rules of proxies
    /// distinguish upper and lower case.
    private let spelling: Spelling
    let hasParameter: Bool
    /// Whether a second parameter follows, which `lastSegment` reads.
    private let hasSecond: Bool

    init(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ access: Access,
        hosts: OtherHosts = .none,
        query parameters: [String] = [],
        body: RouteBody = [],
        reply begin: @escaping @Sendable (RequestContext) throws -> Reply
    ) {
        self.method = method
        self.path = path
        self.access = access
        self.hosts = hosts
        self.parameters = parameters
        self.body = body
        self.strangersBody = access == .anybody ? body.strangersLimit : nil
        self.isChange = method != .get && !(method == .delete && path == Paths.currentSession)
        self.begin = begin
        let parts = path.split(separator: "{id}", omittingEmptySubsequences: false)
        self.prefix = Array(parts[0].utf8)
        self.hasParameter = parts.count > 1
        let suffix = parts.count > 1 ? parts[1] : ""
        // The start of a second parameter, such as `{topic}`.
        let second = suffix.hasSuffix("}") ? suffix.lastIndex(of: "{") : nil
        self.hasSecond = second != nil
        self.suffix = Array((second.map { suffix[..<$0] } ?? suffix).utf8)
        self.spelling = Self.tutorialPaths.contains(path) ? .anyCase : .exact
    }

    /// The paths that the clients of Microsoft's tutorial use.
    static let tutorialPaths: Set = [
        Paths.register, Paths.registration("{id}"), Paths.notifications, Paths.notifications + "/{id}",
    ]

    /// Creates a route with an async handler, which may wait.
    convenience init(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ access: Access,
        hosts: OtherHosts = .none,
        query parameters: [String] = [],
        body: RouteBody = [],
        _ run: @escaping @Sendable (RequestContext) async throws -> Response
    ) {
        self.init(
            method,
            path,
            access,
            hosts: hosts,
            query: parameters,
            body: body,
            reply: { context in
                .later { try await run(context) }
            }
        )
    }

    /// Creates a route whose handler returns the answer without a wait.
    convenience init(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ access: Access,
        hosts: OtherHosts = .none,
        query parameters: [String] = [],
        always answer: @escaping @Sendable (RequestContext) throws -> Response
    ) {
        self.init(method, path, access, hosts: hosts, query: parameters, reply: { .now(try answer($0)) })
    }

    /// Whether the route serves callers who administer the server; their tokens need the scope
    /// `manage`.
    var isAdministrative: Bool {
        guard case .atLeast(_, let scopes, _) = self.access else { return false }
        return scopes.contains(.manage)
    }

    /// The first parameter's value in the path; empty if the route has no parameter, and `nil` if
    /// the path does not match the route.
    func parameter(of path: UnsafeBufferPointer<UInt8>) -> Slice<UnsafeBufferPointer<UInt8>>? {
        if self.hasSecond { return self.first(of: path) }
        let length = path.count - self.prefix.count - self.suffix.count
        guard
            self.hasParameter ? length > 0 : length == 0,
            path.has(self.prefix, at: 0, in: self.spelling),
            path.has(self.suffix, at: path.count - self.suffix.count, in: self.spelling)
        else { return nil }
        let parameter = path[self.prefix.count..<self.prefix.count + length]
        return parameter.contains(UInt8(ascii: "/")) ? nil : parameter
    }

    /// The value of the first of two parameters; `nil` if the path does not match the route.
    private func first(of path: UnsafeBufferPointer<UInt8>) -> Slice<UnsafeBufferPointer<UInt8>>? {
        guard path.has(self.prefix, at: 0, in: self.spelling) else { return nil }
        let rest = path[self.prefix.count...]
        guard
            let end = rest.firstIndex(of: UInt8(ascii: "/")), end > rest.startIndex,
            path.has(self.suffix, at: end, in: self.spelling)
        else { return nil }
        let second = path[(end + self.suffix.count)...]
        return second.isEmpty || second.contains(UInt8(ascii: "/")) ? nil : rest[..<end]
    }

    /// The last segment of a path, decoded; empty if it is not percent-encoded UTF-8.
    static func lastSegment(of path: String) -> String {
        let segment =
            path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path[path.utf8.index(after: $0)...] } ?? path[...]
        return segment.removingPercentEncoding ?? ""
    }
}

/// Whether a comparison of paths distinguishes upper and lower case.
enum Spelling: Sendable {
    case exact
    /// Ignores the case of ASCII letters.
    case anyCase
}

extension UnsafeBufferPointer<UInt8> {
    /// Whether this path contains `text`, which must be in lower case, at the index `start`.
    func has(_ text: [UInt8], at start: Int, in spelling: Spelling) -> Bool {
        guard text.count <= self.count - start else { return false }
        // Fast path: nearly all clients write the path as it is documented.
        let isExact = text.withUnsafeBytes { text in
            // An empty text may have no address.
            guard let wanted = text.baseAddress, let base = self.baseAddress else { return true }
            return memcmp(wanted, base + start, text.count) == 0
        }
        return isExact || spelling == .anyCase && text.indices.allSatisfy { self[start + $0].lowercased == text[$0] }
    }
}

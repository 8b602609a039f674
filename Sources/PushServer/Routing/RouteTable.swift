internal import Bytes
internal import HTTPTypes
internal import PushAPI
internal import SocketHTTP

/// All routes of the server.
struct RouteTable: Sendable {
    enum Match {
        /// `parameter` is the parameter's place in the path.
        case route(Route, parameter: Range<Int>)
        case wrongMethod(allowed: [String], isOpen: Bool)
        case nothing(isOpen: Bool)

        /// Whether the caller must sign in before it gets any answer.
        var needsCaller: Bool {
            switch self {
            case .route(let route, _): route.access != .anybody
            case .wrongMethod(_, let isOpen), .nothing(let isOpen): !isOpen
            }
        }

        /// Whether the request is the one with which a reloaded console page asks who has signed
        /// in. The answer contains the value of `Page-Token`, which all other requests of the page
        /// need.
        var restoresSession: Bool {
            guard case .route(let route, _) = self else { return false }
            return route.method == .get && route.path == Paths.currentSession
        }
    }

    let routes: [Route]

    init(_ routes: [Route]) {
        self.routes = routes
    }

    /// Below this prefix, in upper or lower case, the answer to a request without credentials does
    /// not reveal which paths exist.
    private static let closed = Array("/api".utf8)

    func match(_ head: RequestHead) -> Match {
        head.withPath { self.match(head.method, $0) }
    }

    func match(_ method: HTTPRequest.Method, _ path: UnsafeBufferPointer<UInt8>) -> Match {
        // A `HEAD` is answered like a `GET`; the HTTP server leaves out the body.
        let method = method == .head ? .get : method
        var allowed: [String] = []
        var isOpen = !path.has(Self.closed, at: 0, in: .anyCase)
        for route in self.routes {
            guard let parameter = route.parameter(of: path), !self.isOthers(parameter, in: path) else { continue }
            // Not `indices`: for a slice, its generic code takes 900 instructions.
            let place = parameter.startIndex..<parameter.endIndex
            if route.method == method { return .route(route, parameter: place) }
            allowed.append(route.method.rawValue)
            if route.method == .get { allowed.append("HEAD") }
            isOpen = isOpen && route.access == .anybody
        }
        return allowed.isEmpty ? .nothing(isOpen: isOpen) : .wrongMethod(allowed: allowed, isOpen: isOpen)
    }

    /// Whether another route, which has no parameter, owns the whole path: for example, `read` is
    /// not an id in `/api/notifications/read`. Such a path belongs to that route only, even if its
    /// letters have another case. The check is fast for most ids: they begin with a digit, and the
    /// last segment of such a route does not.
    private func isOthers(
        _ parameter: Slice<UnsafeBufferPointer<UInt8>>,
        in path: UnsafeBufferPointer<UInt8>
    ) -> Bool {
        guard let first = parameter.first, !first.isDigit else {
            return false
        }
        return self.routes.contains {
            !$0.hasParameter && $0.prefix.count == path.count && path.has($0.prefix, at: 0, in: .anyCase)
        }
    }
}

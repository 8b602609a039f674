internal import HTTPTypes
internal import PushAPI
internal import SocketHTTP

extension Response {
    /// An answer with an error in the form of RFC 9457; no cache may keep it.
    init(_ problem: Problem, request: RequestID) {
        var problem = problem
        problem.instance = request.description
        self.init(
            status: problem.httpStatus,
            fields: [.contentType: Problem.contentType, .cacheControl: "no-store"],
            body: problem.json.bytes
        )
        switch problem.code {
        case .unauthorized:
            self.addChallenges(bearer: #"Bearer realm="sealpost""#)
        case .invalidBearerToken, .tokenExpired:
            self.addChallenges(bearer: #"Bearer realm="sealpost", error="invalid_token""#)
        case .tooManyStreams, .storageFull, .databaseUnusable:
            self.fields.append(.retryAfter, "30")
        case .issuerUnavailable:
            self.fields.append(.retryAfter, "5")
        case .busy:
            self.fields.append(.retryAfter, "1")
        default:
            break
        }
    }

    /// An answer with the challenge of RFC 6750 section 3.1. It offers no other authentication
    /// scheme: the credentials are right, and only lack a scope.
    init(_ error: InsufficientScope, request: RequestID) {
        self.init(Problem(.insufficientScope, "the token lacks the scope \(error.missing)"), request: request)
        self.fields.append(
            .wwwAuthenticate,
            #"Bearer realm="sealpost", error="insufficient_scope", scope="\#(error.required)""#
        )
    }

    /// Adds challenges (RFC 9110 section 11.6.1), one line for each authentication scheme, with
    /// Basic first. Clients with Foundation can read only this form.
    private mutating func addChallenges(bearer: String) {
        self.fields.append(.wwwAuthenticate, #"Basic realm="sealpost", charset="UTF-8""#)
        self.fields.append(.wwwAuthenticate, bearer)
    }

    /// An answer that no cache may keep.
    init(status: HTTPResponse.Status = .ok, uncached json: JSONValue) {
        self.init(
            status: status,
            fields: [.contentType: "application/json; charset=utf-8", .cacheControl: "no-store"],
            body: json.bytes
        )
    }

    /// The answer to a request that created the resource at `path`; no cache may keep it.
    init(created path: String, _ json: JSONValue) {
        self.init(status: .created, uncached: json)
        self.fields.append(.location, path)
    }

    /// An empty answer that no cache may keep.
    static var empty: Response {
        Response(status: .ok, fields: [.cacheControl: "no-store"])
    }

    /// An empty answer with the status 204; no cache may keep it.
    static var noContent: Response {
        Response(status: .noContent, fields: [.cacheControl: "no-store"])
    }
}

extension Problem {
    /// The status with its reason phrase: a status that is made from a number would have none.
    fileprivate var httpStatus: HTTPResponse.Status {
        switch self.status {
        case 400: .badRequest
        case 401: .unauthorized
        case 403: .forbidden
        case 404: .notFound
        case 405: .methodNotAllowed
        case 408: .requestTimeout
        case 409: .conflict
        case 410: .gone
        case 412: .preconditionFailed
        case 413: .contentTooLarge
        case 414: .uriTooLong
        case 417: .expectationFailed
        case 421: .misdirectedRequest
        case 422: .unprocessableContent
        case 429: .tooManyRequests
        case 431: .requestHeaderFieldsTooLarge
        case 501: .notImplemented
        case 503: .serviceUnavailable
        case 505: .httpVersionNotSupported
        case 507: HTTPResponse.Status(code: 507, reasonPhrase: "Insufficient Storage")
        default: .internalServerError
        }
    }

    /// The problem for a request that the HTTP server itself refused.
    init(_ refusal: Refusal) {
        let code: ProblemCode =
            switch refusal {
            case .badRequest: .malformedRequest
            case .targetTooLong: .targetTooLong
            case .headerTooLarge: .headerTooLarge
            case .bodyTooLarge: .payloadTooLarge
            case .expectationFailed: .unsupportedExpectation
            case .notImplemented: .notImplemented
            case .versionNotSupported: .versionNotSupported
            case .timedOut: .requestTimeout
            case .overloaded, .tooManyConnections, .handlerTooSlow: .busy
            }
        self.init(code, refusal.detail)
    }
}

internal import HTTPTypes
internal import PushAPI
internal import SocketHTTP

extension Response {
    /// An error, as RFC 9457 has it; never cached.
    init(_ problem: Problem, request: RequestID) {
        var problem = problem
        problem.instance = request.description
        self.init(
            status: HTTPResponse.Status(integerLiteral: problem.status),
            fields: [.contentType: Problem.contentType, .cacheControl: "no-store"],
            body: problem.json.bytes
        )
        switch problem.code {
        case .unauthorized:
            // Basic first and one line each: what Foundation's clients can read (RFC 9110 section 11.6.1).
            self.fields.append(
                HTTPField(name: .wwwAuthenticate, value: #"Basic realm="sealpost", charset="UTF-8""#)
            )
            self.fields.append(HTTPField(name: .wwwAuthenticate, value: #"Bearer realm="sealpost""#))
        case .busy:
            self.fields.append(HTTPField(name: .retryAfter, value: "1"))
        default:
            break
        }
    }

    /// An answer that no cache may keep.
    init(status: HTTPResponse.Status = .ok, uncached json: JSONValue) {
        self.init(
            status: status,
            fields: [.contentType: "application/json; charset=utf-8", .cacheControl: "no-store"],
            body: json.bytes
        )
    }

    /// An empty answer that no cache may keep.
    static var empty: Response {
        Response(status: .ok, fields: [.cacheControl: "no-store"])
    }
}

extension Problem {
    /// What the HTTP server itself refused.
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
            case .overloaded: .busy
            }
        self.init(code, refusal.detail)
    }
}

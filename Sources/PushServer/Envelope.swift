internal import Bytes
internal import Foundation
internal import HTTPTypes
internal import Logging
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP
internal import Synchronization

/// Adds the fields that every answer carries, whatever its status is: the echo of `MyToken`, the
/// request's id, the caller's account, the remaining quota, the fields for browsers (security and
/// CORS), and the signature.
struct Envelope: Sendable {
    private let signer: AnswerSigner
    private let origins: OriginPolicy
    /// The field `Strict-Transport-Security`, for answers over connections with TLS.
    private let hsts: ResponseFields?
    private let logger: Logger
    /// The handler of `logger`, which `Logger.logLevel` would copy at each request.
    private let handler: any LogHandler
    private let meters: RequestMeters
    private let traces: RequestTraces

    init(
        signer: AnswerSigner,
        origins: OriginPolicy,
        hsts: Int?,
        meters: RequestMeters,
        traces: RequestTraces,
        logger: Logger
    ) {
        self.signer = signer
        self.origins = origins
        self.hsts = hsts.map { [.strictTransportSecurity: "max-age=\($0)"] }
        self.logger = logger
        self.handler = logger.handler
        self.meters = meters
        self.traces = traces
    }

    /// Reads `MyToken`, which the answer echoes. Throws a problem if the field is invalid, or if
    /// the server cannot make the requested signature.
    func read(_ exchange: Exchange) throws {
        let head = exchange.request.head
        exchange.token = try MyToken(of: head)
        if exchange.isToBeSigned { try self.signer.check(head) }
    }

    /// The answer to a request that the HTTP server refuses; `head` is `nil` if the server has not
    /// read the request's head.
    func refuse(_ refusal: Refusal, head: RequestHead?) -> Response {
        let id = head.map { RequestID($0) } ?? RequestID()
        var response = Response(Problem(refusal), request: id)
        self.meters.others.record(response.status.code)
        self.logger.debug("request refused", metadata: id.fields.merging(["status": "\(response.status.code)"]) { $1 })
        // If `MyToken` is invalid, too, the refusal does not echo it.
        let token = head.flatMap { try? MyToken(of: $0) }
        let sharing = if let head { self.origins.fields(for: head) } else { self.origins.unreadable }
        response.fields.append(upTo: 512) { Self.writeAddress(id: id, token: token, to: &$0) }
        if let sharing { response.fields.append(contentsOf: sharing) }
        guard let head, head.count(of: .acceptSignature) > 0 else { return response }
        return self.signer.signed(response, for: head)
    }

    /// Completes an answer that no handler made.
    func finish(_ response: Response, in exchange: Exchange) -> Response {
        var response = response
        self.complete(&response, exchange.quota, in: exchange)
        return response
    }

    // The functions below are not inlined, so that their callers have small frames. A connection
    // keeps all the memory that frames of its suspended functions have ever used.

    @inline(never)
    func finish(_ response: consuming Response, of context: RequestContext, in exchange: Exchange) -> Response {
        // The quota is read only now, because the cost of some requests is known only after the
        // handler has answered them.
        let quota = context.caller?.quota?.state(now: context.now)
        self.complete(&response, quota, in: exchange)
        return response
    }

    @inline(never)
    func finish(_ error: any Error, in exchange: Exchange) -> Response {
        var response = self.response(to: error, in: exchange)
        if response.status == .unauthorized, PageSessions.isOfPage(exchange.request.head) {
            // The console's page asks for the password itself. Therefore the challenge must not
            // name Basic: for Basic, a browser opens a dialogue of its own.
            response.fields.remove(.wwwAuthenticate)
            response.fields.append(.wwwAuthenticate, #"Bearer realm="sealpost""#)
        }
        self.complete(&response, exchange.quota, in: exchange)
        return response
    }

    // MARK: - Private

    private func complete(_ response: inout Response, _ quota: QuotaPolicy.State?, in exchange: Exchange) {
        let (status, time, request) = (response.status.code, .now - exchange.start, exchange.request)
        (exchange.matched?.meter ?? self.meters.others).record(status, after: time)
        if let span = exchange.span { self.traces.spans?.end(span, of: exchange, status: status) }
        self.log(status, of: exchange.id) {
            [
                "method": "\(request.head.method)", "route": "\(exchange.route)", "client": "\(request.client)",
                "milliseconds": "\(time.milliseconds)",
            ]
        }
        // The quota takes less than 200 bytes, the next two parts less than 120.
        response.fields.append(upTo: 640) { writer in
            if let quota { quota.policy.write(quota, to: &writer) }
            if exchange.isCheckedStrictly { writer.write(Self.strictness) }
            if let account = exchange.account {
                writer.write("Sealpost-Account: ")
                writer.write(string: account.text)
                writer.write("\r\n")
            }
            Self.writeAddress(id: exchange.id, token: exchange.token, to: &writer)
        }
        if let hsts, request.isEncrypted { response.fields.append(contentsOf: hsts) }
        if let sharing = self.origins.fields(for: request.head) { response.fields.append(contentsOf: sharing) }
        // The signature comes last, because it covers the answer as it is sent.
        if exchange.isToBeSigned { response = self.signer.signed(response, for: request.head) }
    }

    /// The fields of an answer to a strict request (RFC 7240 section 3). Section 2 requires
    /// `Vary`, so that caches do not use the answer for requests with other preferences.
    private static let strictness: StaticString = """
        Preference-Applied: handling=strict\r
        Vary: Prefer\r\n
        """

    /// Writes the lines that every answer has, in less than 300 bytes.
    private static func writeAddress(id: RequestID, token: MyToken?, to writer: inout ByteWriter) {
        if let token {
            writer.write("MyToken: ")
            writer.write(decimal: token.echoValue)
            writer.write("\r\n")
        }
        writer.write("X-Request-Id: ")
        id.write(to: &writer)
        // Three rules for browsers. They must not guess the answer's type. They must not load the
        // answer as an image or a script into a page of another origin; pages of allowed origins
        // read answers by CORS. They must not send the address of the answer to another site.
        writer.write(
            """
            \r
            X-Content-Type-Options: nosniff\r
            Cross-Origin-Resource-Policy: same-origin\r
            Referrer-Policy: no-referrer\r\n
            """
        )
    }

    /// Logs one line for each request, at `info` if the request's trace is sampled. Reads the
    /// log's level and the sampling each time, because the level and the sampling may change while
    /// the server runs.
    private func log(_ status: Int, of id: RequestID, _ more: () -> Logger.Metadata) {
        let level: Logger.Level = self.traces.isSampled(id.trace?.trace) ? .info : .debug
        guard self.handler.logLevel <= level else { return }
        let fields = id.fields.merging(["status": "\(status)"]) { $1 }
        self.logger.log(level: level, "request answered", metadata: fields.merging(more()) { $1 })
    }

    /// The answer to a request that ended in an error: the client gets the problem's code, and the
    /// log gets the reason.
    private func response(to error: any Error, in exchange: Exchange) -> Response {
        let id = exchange.id
        switch error {
        case let error as InsufficientScope:
            return Response(error, request: id)
        case let error as TryLater:
            var response = Response(Problem(error.code, error.detail), request: id)
            response.fields.append(.retryAfter, "\(error.seconds)")
            return response
        case let error as WrongMethod:
            var response = Response(Problem(.methodNotAllowed), request: id)
            response.fields.append(.allow, error.allowed.joined(separator: ", "))
            return response
        case let error as BodyError:
            return Response(Problem(error.refusal), request: id)
        default:
            var problem = FailureReport(logger: self.logger).problem(of: error, in: id)
            // The users of the admin socket may also read the log, which has the same reason.
            if exchange.isLocal, !(error is Problem) {
                problem.detail = "\(error)"
                if (error as? StoreError)?.isConfiguration == true { problem.type = LocalPaths.unusableDatabase }
            }
            return Response(problem, request: id)
        }
    }
}

/// A request and the state on which its answer depends. It is a class, so that functions which
/// pass it on copy only a reference. Only the event loop of its connection uses it.
final class Exchange {
    let request: Request
    let start = ContinuousClock.now
    /// The route that matches the request; `nil` if none matches.
    var matched: Route?
    /// The path of the matching route as documented, without ids; empty if no route matches.
    var route: String { self.matched?.path ?? "" }
    let id: RequestID
    /// Whether the request came over the local admin socket, from an operator's command.
    var isLocal = false
    /// The request's span, which is the parent of the spans of its commits and pushes; `nil` if
    /// the request's trace is not recorded.
    let span: OpenSpan?
    let isToBeSigned: Bool
    /// Whether the client asks for strict handling.
    let prefersStrictness: Bool
    /// Whether the request is refused if it has a parameter or a member whose name the matching
    /// route does not know.
    var isCheckedStrictly = false
    var token: MyToken?
    /// The term of the credential lease in which the request began. The term ends when the lease
    /// expires; after that, cached credentials are not trusted. `nil` if the request needs no
    /// caller, or if no lease was valid when the request began.
    var term: CredentialLease.Term?
    /// The caller's account, if the caller is known and has one.
    var account: AccountID?
    /// The remaining quota of the caller; `nil` if the caller has no quota.
    var quota: QuotaPolicy.State?

    private let meters: RequestMeters

    /// `spans` records the request's span; `nil` for requests without spans.
    init(_ request: Request, _ meters: RequestMeters, _ spans: SpanRecorder? = nil) {
        self.request = request
        self.meters = meters
        meters.running.wrappingAdd(1, ordering: .relaxed)
        var id = RequestID(request.head)
        self.span = spans?.begin(under: id.trace)
        if let span { id.trace = span.context }
        self.id = id
        self.isToBeSigned = request.head.count(of: .acceptSignature) > 0
        self.prefersStrictness = request.head.count(of: .prefer) > 0 && Preferences(of: request.head).isStrict
    }

    deinit {
        self.meters.running.wrappingSubtract(1, ordering: .relaxed)
    }
}

extension SpanRecorder {
    /// The methods that a span may name. A client can send any text as a method, so OpenTelemetry
    /// demands that a span names only known methods.
    private static let methods: Set<HTTPRequest.Method> = [.get, .head, .post, .put, .patch, .delete, .options]

    /// Ends the span of a request. The span gets the request's method, its route and the status,
    /// but never the path.
    fileprivate func end(_ span: OpenSpan, of exchange: Exchange, status: Int) {
        let method = exchange.request.head.method
        let isKnown = Self.methods.contains(method)
        var attributes = [
            Span.Attribute("http.request.method", .text(isKnown ? method.rawValue : "_OTHER")),
            Span.Attribute("http.response.status_code", .number(status)),
        ]
        if !exchange.route.isEmpty { attributes.append(.init("http.route", .text(exchange.route))) }
        let isFailed = status >= 500
        if isFailed { attributes.append(.init("error.type", .text("\(status)"))) }
        let words = [isKnown ? method.rawValue : "HTTP", exchange.route]
        self.end(span, words.filter { !$0.isEmpty }.joined(separator: " "), .server, attributes, isFailed: isFailed)
    }
}

/// The error for a request whose path exists, but does not support the request's method.
struct WrongMethod: Error {
    let allowed: [String]
}

extension MyToken {
    /// Reads the token of a request; `nil` if there is none. Throws an `invalid-mytoken` problem
    /// that says what is wrong with the token.
    fileprivate init?(of head: RequestHead) throws(Problem) {
        guard let text = head[.myToken] else { return nil }
        guard head.count(of: .myToken) == 1 else { throw Problem(.invalidToken, "MyToken appears more than once") }
        do throws(MyToken.Invalid) {
            self = try MyToken(text: text)
        } catch {
            switch error {
            case .notANumber: throw Problem(.invalidToken, "MyToken is not a decimal number")
            case .outOfRange: throw Problem(.invalidToken, "MyToken is above \(MyToken.range.upperBound)")
            }
        }
    }
}

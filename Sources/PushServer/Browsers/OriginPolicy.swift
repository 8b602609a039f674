internal import HTTPTypes
internal import PushAPI
internal import SocketHTTP

/// Decides which pages may send requests from a browser, with its stored credentials: pages of the
/// server's own origin and of the configured origins. It refuses requests of other pages, which
/// cannot read any answer either.
///
/// Clients other than browsers send neither `Origin` nor `Sec-Fetch-Site`, and are not affected.
struct OriginPolicy: Sendable {
    /// The fields that let the pages of an origin read an answer, keyed by the value of `Origin`.
    private let readable: [String: ResponseFields]
    /// The fields for all other requests, which say only that answers differ by `Origin`. `nil` if
    /// no origin is allowed.
    let unreadable: ResponseFields?
    /// The hosts that requests may name; if empty, any.
    private let names: Set<String>

    init(allowed: Set<WebOrigin>, names: Set<String>) {
        self.names = names
        self.readable = Dictionary(uniqueKeysWithValues: allowed.map { ($0.description, Self.fields(for: $0)) })
        self.unreadable = allowed.isEmpty ? nil : Self.vary
    }

    /// Throws a `misdirected-request` problem for a request whose host is not a name of the
    /// server.
    ///
    /// A page can have its own name resolve to the server's address (DNS rebinding). `Host` and
    /// `Origin` then agree, and the browser treats the page as the server's own.
    func checkHost(of head: RequestHead, for found: RouteTable.Match) throws(Problem) {
        guard !self.names.isEmpty else { return }
        let authority = head.authority
        if let authority, self.names.contains(authority) { return }
        let host = authority.flatMap { WebOrigin("http://\($0)")?.host }
        if let host, self.names.contains(host) { return }
        if case .route(let route, _) = found, route.hosts.includes(host) { return }
        throw Problem(
            .misdirectedRequest,
            authority.map { "\"\($0.prefix(100))\" is not in server.names" } ?? "Host is missing"
        )
    }

    /// Throws a `cross-origin` problem for a request of a foreign page that may change something
    /// or needs a caller. Even a `GET` with a caller may leave a receipt, take the events of a
    /// stream, or use up a quota.
    func check(_ request: Request, for found: RouteTable.Match) throws(Problem) {
        let method = request.head.method
        guard !Self.isSafe(method) || found.needsCaller && method != .options else { return }
        guard let sender = self.foreignSender(of: request) else { return }
        throw Problem(.crossOrigin, sender)
    }

    /// The answer to a CORS preflight of a page of an allowed origin (Fetch §4.8); `nil` for every
    /// other request. It needs no credentials, as browsers send none.
    func preflight(_ head: RequestHead, for found: RouteTable.Match) -> Response? {
        guard
            head.method == .options, case .wrongMethod(let allowed, _) = found,
            head.count(of: .accessControlRequestMethod) > 0, self.allows(head)
        else { return nil }
        var response = Response.noContent
        response.fields.append(.accessControlAllowMethods, allowed.joined(separator: ", "))
        response.fields.append(contentsOf: Self.preflightFields)
        return response
    }

    /// The fields that tell browsers and caches which origins may read the answer; `nil` if no
    /// origin is allowed.
    func fields(for head: RequestHead) -> ResponseFields? {
        guard let unreadable else { return nil }
        return head[.origin].flatMap { self.readable[$0] } ?? unreadable
    }

    // MARK: - Private

    /// A description of the foreign page that sent the request; `nil` if the request is allowed.
    private func foreignSender(of request: Request) -> String? {
        let head = request.head
        guard !self.allows(head) else { return nil }
        let origin = head[.origin]
        switch head[.secFetchSite] {
        case nil, "none": return origin.flatMap { Self.isOwn($0, request) ? nil : Self.words($0) }
        // The browser knows the address that the page used, while a proxy in between may have
        // changed it.
        case "same-origin": return origin == "null" ? Self.words("null") : nil
        case .some(let site): return origin.map(Self.words) ?? "Sec-Fetch-Site is \"\(site.prefix(40))\""
        }
    }

    private func allows(_ head: RequestHead) -> Bool {
        head[.origin].map { self.readable[$0] != nil } ?? false
    }

    /// Whether an origin is the server's own as the client sees it: `Host` as sent, and the scheme
    /// as far as it is known. `checkHost` has compared `Host` with the server's names.
    private static func isOwn(_ text: String, _ request: Request) -> Bool {
        guard
            let origin = WebOrigin(text), let scheme = HTTPScheme(origin.scheme),
            let authority = request.head.authority
        else { return false }
        return WebOrigin("\(scheme.rawValue)://\(authority)") == origin && (request.scheme ?? scheme) == scheme
    }

    private static func words(_ origin: String) -> String {
        "the origin \"\(origin.prefix(100))\" is neither the server's nor in server.allowedOrigins"
    }

    /// Whether the method is safe (RFC 9110 section 9.2.1).
    private static func isSafe(_ method: HTTPRequest.Method) -> Bool {
        method == .get || method == .head || method == .options || method == .trace
    }

    // MARK: Fields

    private static let vary: ResponseFields = [.vary: "Origin"]

    /// The fields name the origin itself: with `*`, browsers allow no credentials.
    private static func fields(for origin: WebOrigin) -> ResponseFields {
        [
            .vary: "Origin", .accessControlAllowOrigin: origin.description, .accessControlAllowCredentials: "true",
            .accessControlExposeHeaders: self.exposed.map(\.rawName).joined(separator: ", "),
        ]
    }

    /// The fields that a page may read in addition to those that are always readable, such as
    /// `Content-Type` and `Expires`.
    private static let exposed: [HTTPField.Name] = [
        .myToken, .eTag, .location, .rateLimit, .rateLimitPolicy, .retryAfter, .requestID, .preferenceApplied,
        .contentDigest, .signatureInput, .signature, .account,
    ]

    private static let preflightFields: ResponseFields = [
        .accessControlAllowHeaders: (Self.taken.map(\.rawName) + Self.tracing).joined(separator: ", "),
        // Two hours, the most that Chromium accepts.
        .accessControlMaxAge: "7200",
    ]

    /// The request fields that the API reads. `*` does not cover `Authorization`, and covers
    /// nothing for requests with credentials.
    private static let taken: [HTTPField.Name] = [
        .authorization, .contentType, .myToken, .acceptSignature, .requestID, .idempotencyKey, .prefer, .lastEventID,
        .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince,
    ]

    /// The fields that libraries for tracing add to each request of a page: W3C's, and those of
    /// Sentry, Datadog, Zipkin, Elastic and New Relic. A browser blocks the whole request if one
    /// of its fields is not allowed. The server reads `traceparent` only.
    private static let tracing = [
        "traceparent", "tracestate", "baggage", "sentry-trace", "x-datadog-trace-id", "x-datadog-parent-id",
        "x-datadog-origin", "x-datadog-sampling-priority", "b3", "elastic-apm-traceparent", "newrelic",
    ]
}

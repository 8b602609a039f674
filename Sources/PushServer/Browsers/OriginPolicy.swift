internal import HTTPTypes
internal import PushAPI
internal import SocketHTTP

/// Decides which pages in a browser may send requests with the browser's stored credentials: pages
/// of the server's own origin and of the configured origins. It refuses requests of other pages.
/// Other pages cannot read any answer either.
///
/// Clients other than browsers send neither `Origin` nor `Sec-Fetch-Site`; the policy does not
/// affect these clients.
struct OriginPolicy: Sendable {
    /// The response fields that let pages of an allowed origin read an answer, by the value of
    /// `Origin`.
    private let readable: [String: ResponseFields]
    /// The response fields for requests whose `Origin` is missing or not allowed: only `Vary`,
    /// which tells caches that answers differ by `Origin`. `nil` if no origin is allowed.
    let unreadable: ResponseFields?
    /// The hosts that the field `Host` of a request may name; if empty, `Host` may name any host.
    private let names: Set<String>

    init(allowed: Set<WebOrigin>, names: Set<String>) {
        self.names = names
        self.readable = Dictionary(uniqueKeysWithValues: allowed.map { ($0.description, Self.fields(for: $0)) })
        self.unreadable = allowed.isEmpty ? nil : Self.vary
    }

    /// Throws a `misdirected-request` problem for a request whose `Host` is not a name of the
    /// server.
    ///
    /// The owner of a foreign page can let the page's host name resolve to the server's address
    /// (DNS rebinding). `Host` and `Origin` then agree, and the browser treats the page as the
    /// server's own.
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

    /// Throws a `cross-origin` problem for a request of a foreign page if the request may change
    /// something or needs an authenticated caller. Even an authenticated `GET` may record a fetch,
    /// receive the events of a stream, or use up a quota.
    func check(_ request: Request, for found: RouteTable.Match) throws(Problem) {
        let method = request.head.method
        guard !Self.isSafe(method) || found.needsCaller && method != .options else { return }
        guard let sender = self.foreignSender(of: request) else { return }
        throw Problem(.crossOrigin, sender)
    }

    /// The answer to a CORS preflight of a page of an allowed origin (Fetch §4.8); `nil` for every
    /// other request. A preflight needs no credentials, because browsers send none with it.
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
        // The browser's `same-origin` is trusted without a comparison with `Host`: the browser
        // knows the address that the page used, and a proxy may have changed `Host`.
        case "same-origin": return origin == "null" ? Self.words("null") : nil
        case .some(let site): return origin.map(Self.words) ?? "Sec-Fetch-Site is \"\(site.prefix(40))\""
        }
    }

    private func allows(_ head: RequestHead) -> Bool {
        head[.origin].map { self.readable[$0] != nil } ?? false
    }

    /// Whether an origin is the server's own: its host and port are those of the received `Host`,
    /// and its scheme is the request's, if that is known. `checkHost` has compared `Host` with the
    /// server's names.
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

    /// The fields name the origin itself and not `*`: browsers refuse `*` for requests with
    /// credentials.
    private static func fields(for origin: WebOrigin) -> ResponseFields {
        [
            .vary: "Origin", .accessControlAllowOrigin: origin.description, .accessControlAllowCredentials: "true",
            .accessControlExposeHeaders: self.exposed.map(\.rawName).joined(separator: ", "),
        ]
    }

    /// The response fields that a page may read. Some others, such as `Content-Type` and
    /// `Expires`, are always readable, and need not be listed.
    private static let exposed: [HTTPField.Name] = [
        .myToken, .eTag, .location, .rateLimit, .rateLimitPolicy, .retryAfter, .requestID, .preferenceApplied,
        .contentDigest, .signatureInput, .signature, .account,
    ]

    private static let preflightFields: ResponseFields = [
        .accessControlAllowHeaders: (Self.taken.map(\.rawName) + Self.tracing).joined(separator: ", "),
        // Two hours, the most that Chromium accepts.
        .accessControlMaxAge: "7200",
    ]

    /// The request fields that the API reads. The list is not `*`, because `*` does not allow
    /// `Authorization`, and allows nothing in requests with credentials.
    private static let taken: [HTTPField.Name] = [
        .authorization, .contentType, .myToken, .acceptSignature, .requestID, .idempotencyKey, .prefer, .lastEventID,
        .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince,
    ]

    /// The request fields that libraries for tracing add to each request of a page: W3C's, and
    /// those of Sentry, Datadog, Zipkin, Elastic and New Relic. They are allowed, because a
    /// browser blocks a whole request if one of its fields is not allowed. The server reads only
    /// `traceparent`.
    private static let tracing = [
        "traceparent", "tracestate", "baggage", "sentry-trace", "x-datadog-trace-id", "x-datadog-parent-id",
        "x-datadog-origin", "x-datadog-sampling-priority", "b3", "elastic-apm-traceparent", "newrelic",
    ]
}

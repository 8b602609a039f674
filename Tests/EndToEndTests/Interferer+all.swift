import PushClient

extension Interferer {
    /// Proxies of several products, configured as the products' users would configure them. A
    /// machine with only some of the products gets a short list.
    static let all: [Interferer] =
        Site.hasAllProxies ? caches + meddlers + portals + harmless : [caches[0], meddlers[1], meddlers[3], portals[0]]

    /// All proxies. `scripts/sealpost_e2e/interferers.py` tests other clients with them, too.
    static let table = caches + meddlers + portals + harmless + wires

    // MARK: - Kept answers

    static let caches: [Interferer] = [
        // This cache is the only one that also stores answers to POST.
        Interferer(["nginx-cache.conf"], sign: .repeats, isCache: true) { call, _ in
            call == .markRead ? .truth : .interference([.wrongEcho])
        },
        cache("varnish-cache.vcl"),
        cache("haproxy-cache.cfg"),
        // Squid stores answers to requests with credentials only if they are declared public.
        // nginx therefore adds this declaration.
        cache("squid-cache.conf", "nginx-public.conf"),
        Interferer(["varnish-stale.vcl"], sign: .repeats, isCache: true, needsNoDaemon: true) { call, _ in
            .interference(isFetch(call) ? [.wrongEcho] : [.missingEcho])
        },
    ]

    private static func cache(_ files: String...) -> Interferer {
        Interferer(files, how: "", sign: .repeats, isCache: true) { call, _ in
            isFetch(call) ? .interference([.wrongEcho]) : .truth
        }
    }

    private static func isFetch(_ call: Call) -> Bool { call == .notification || call == .sync }

    // MARK: - Changed answers

    static let meddlers: [Interferer] = [
        Interferer(["nginx-rewrite.conf"], sign: .otherText, findings: rewritten),
        Interferer(["haproxy-meddle.cfg"], how: "rewrite", sign: .otherText, findings: rewritten),
        // The proxy adds a JSON member that no client reads. It does no harm, but only signatures
        // show that it does not come from the server.
        Interferer(["haproxy-meddle.cfg"], how: "inject", sign: .otherText) { call, trust in
            trust == .signatures && call != .register ? .interference([.signature]) : .truth
        },
        Interferer(["haproxy-meddle.cfg"], how: "cut", sign: .cut) { _, _ in .interference([.truncated]) },
        Interferer(["nginx-chunk.conf", "haproxy-meddle.cfg"], how: "cut", sign: .cut) { _, _ in
            .interference([.truncated])
        },
        // These answers end early without an error of the connection. Only the missing content
        // shows a client that the answer is incomplete.
        Interferer(["nginx-unsized.conf", "haproxy-meddle.cfg"], how: "cut", sign: .otherText) { _, trust in
            .interference(trust == .signatures ? [.signature] : [.notJSON, .unexpectedBody])
        },
        Interferer(["haproxy-meddle.cfg"], how: "shorten", sign: .otherText) { _, trust in
            .interference(trust == .signatures ? [.signature] : [.notJSON])
        },
        Interferer(["haproxy-meddle.cfg"], how: "empty", sign: .otherText) { _, trust in
            .interference(trust == .signatures ? [.signature] : [.unexpectedBody])
        },
        Interferer(["nginx-spool.conf"], sign: .cut, payload: Self.long) { call, _ in
            call == .markAllRead || call == .register ? .truth : .interference([.truncated])
        },
        Interferer(["haproxy-strip.cfg"], how: "^mytoken$", sign: .lacks("MyToken")) { _, _ in
            .interference([.missingEcho])
        },
        Interferer(["haproxy-strip.cfg"], how: "^signature$", sign: .lacks("Signature"), findings: unsigned),
        Interferer(
            ["haproxy-strip.cfg"],
            how: "^signature-input$",
            sign: .lacks("Signature-Input"),
            findings: unsigned
        ),
        Interferer(["haproxy-strip.cfg"], how: "^content-digest$", sign: .lacks("Content-Digest"), findings: unsigned),
        Interferer(["haproxy-detour.cfg"], sign: .otherText) { call, trust in
            isFetch(call) ? .interference([trust == .signatures ? .signature : .unexpectedBody]) : .truth
        },
    ]

    @Sendable private static func rewritten(_ call: Call, _ trust: Trust) -> Finding {
        // The answers to these two calls contain no text that the proxy could change.
        if call == .markAllRead || call == .register { return .truth }
        return trust == .signatures ? .interference([.signature]) : .belief
    }

    @Sendable private static func unsigned(_ call: Call, _ trust: Trust) -> Finding {
        trust == .signatures ? .interference([.signature]) : .truth
    }

    /// A text that exceeds the buffers of a proxy, even if it is compressed.
    private static var long: String {
        "secret " + (0..<4000).map { _ in String(Int.random(in: 0..<1 << 40), radix: 36) }.joined()
    }

    // MARK: - Answers of their own

    static let portals: [Interferer] = [
        Interferer(["nginx-portal.conf"], sign: .own(200)) { _, _ in .interference([.missingEcho]) },
        Interferer(["nginx-redirect.conf"], sign: .own(302)) { _, _ in .interference([.redirect]) },
        Interferer(["haproxy-refuse.cfg"], how: "401", sign: .own(401)) { _, _ in .interference([.missingEcho]) },
        Interferer(["haproxy-refuse.cfg"], how: "500", sign: .own(500)) { _, _ in .interference([.missingEcho]) },
        Interferer(["haproxy-unchanged.cfg"], sign: .own(304)) { _, _ in .interference([.missingEcho]) },
        // The rule for the answer to `MyToken` is public, so the proxy can calculate the answer.
        Interferer(["haproxy-inventor.cfg"], sign: .own(200)) { _, trust in
            trust == .signatures ? .interference([.signature]) : .belief
        },
    ]

    // MARK: - Bytes

    /// The changes of an answer's bytes that `scripts/proxies/wire-answers.py` makes.
    static let wires: [Interferer] =
        wires("1.0 unframed length-twice chunks bytes extensions shuffled blanks fields pieces foreign") { _, _ in
            .truth
        }
        + wires(
            "digest-twice signature-twice input-twice zeros key components label created nonce no-nonce algorithm "
                + "account 206 299",
            unsigned
        )
        + wires("fewer") { _, trust in trust == .signatures ? .interference([.insufficientCoverage]) : .truth }
        + wires("404") { _, trust in .interference([trust == .signatures ? .signature : .unexpectedBody]) }
        + wires("script") { _, trust in .interference([trust == .signatures ? .signature : .notJSON]) }
        + wires("longer gzip-label") { _, _ in .interference([.truncated]) }
        + wires("bomb") { _, _ in .interference([.oversized]) }
        + wires("echo-twice echo-zero echo-number echo-other") { _, _ in .interference([.wrongEcho]) }
        + wires("page-403 page-404 page-410 page-421 page-429 page-502 page-503 page-504 page-511") { _, _ in
            .interference([.missingEcho])
        }
        + wires("redirect-300 redirect-301 redirect-303 redirect-307 redirect-308") { _, _ in
            .interference([.redirect])
        }
        + wires("hang-up reset head garbage switch lengths-longer lengths-shorter") { _, _ in .offline }
        // Only the client ends these answers.
        + wires("silence stall drip interim flood", deadline: .seconds(2)) { _, _ in .offline }

    private static func wires(
        _ changes: String,
        deadline: Duration? = nil,
        _ findings: @escaping @Sendable (Call, Trust) -> Finding
    ) -> [Interferer] {
        changes.split(separator: " ").map {
            Interferer(
                ["wire-answers.py"],
                how: String($0),
                sign: .ofItself,
                deadline: deadline,
                findings: findings
            )
        }
    }

    // MARK: - No harm

    static let harmless: [Interferer] = [
        Interferer(["haproxy-upper.cfg"], sign: .shows("\r\nMYTOKEN: 20\r\n")) { _, _ in .truth },
        Interferer(["haproxy-strip.cfg"], how: "^etag$", sign: .lacks("ETag")) { _, _ in .truth },
        Interferer(["nginx-gzip.conf"], sign: .shows("\r\nContent-Encoding: gzip\r\n")) { _, _ in .truth },
    ]
}

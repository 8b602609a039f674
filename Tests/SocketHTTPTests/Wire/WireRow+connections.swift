extension WireRow {
    /// The field `Expect` (RFC 9110 §10.1.1).
    static let expectations = [
        WireRow(
            "leave to send a body",
            "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-Continue\r\nContent-Length: 3\r\n\r\nabc",
            .goOn,
            .ok("POST / @h", "Expect: 100-Continue", "Content-Length: 3", body: "abc")
        ),
        WireRow(
            "leave to send chunks",
            "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
            .goOn,
            .ok("POST / @h", "Expect: 100-continue", "Transfer-Encoding: chunked", body: "abc")
        ),
        WireRow(
            "leave that is not used",
            "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n",
            .goOn,
            .failed(400, "The connection ended before the end of the body.").closing,
            then: .cutOff
        ),
        WireRow(
            "no leave for what is too large",
            "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 33\r\n\r\n",
            .failed(413, "The request's body is too large.").closing
        ),
        WireRow(
            "no leave for what nobody wants",
            "POST /unread HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n",
            .ok("POST /unread @h", "Expect: 100-continue", "Content-Length: 3").closing
        ),
        WireRow(
            "no leave without a body",
            "GET / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n\r\n",
            .ok("GET / @h", "Expect: 100-continue")
        ),
        WireRow(
            "HTTP/1.0 expects nothing",
            "POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
            .ok("POST /", "Expect: 100-continue", "Content-Length: 3", body: "abc").closing
        ),
        WireRow("another expectation", expecting("200-ok"), unmet),
        WireRow("more than one", expecting("100-continue, x"), unmet),
        WireRow("an empty one", expecting(""), unmet),
    ]

    /// RFC 9112 §9.3: whether a connection stays open, and what happens to bytes that follow a
    /// request.
    static let persistence = [
        WireRow("asked to close", "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", closeOnRequest),
        WireRow(
            "asked to close, among other options",
            "GET / HTTP/1.1\r\nHost: h\r\nConnection: x, CLOSE ,keep-alive\r\n\r\n",
            .ok("GET / @h", "Connection: x, CLOSE ,keep-alive").closing
        ),
        WireRow(
            "asked to close, in a second line",
            "GET / HTTP/1.1\r\nHost: h\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n",
            .ok("GET / @h", "Connection: keep-alive", "Connection: close").closing
        ),
        WireRow(
            "what begins like close is not",
            "GET / HTTP/1.1\r\nHost: h\r\nConnection: closed\r\n\r\n",
            .ok("GET / @h", "Connection: closed")
        ),
        WireRow(
            "what follows is never looked at",
            "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\nGET /admin HTTP/1.1\r\nHost: h\r\n\r\n",
            closeOnRequest,
            then: .closedAsAsked
        ),
        WireRow("HTTP/1.0 closes", "GET / HTTP/1.0\r\nHost: h\r\n\r\n", .ok("GET / @h").closing),
        WireRow(
            "HTTP/1.0 stays if asked to",
            "GET / HTTP/1.0\r\nHost: h\r\nConnection: Keep-Alive\r\n\r\n",
            .ok("GET / @h", "Connection: Keep-Alive").keepingAlive
        ),
        WireRow(
            "HTTP/1.0 closes if asked both",
            "GET / HTTP/1.0\r\nHost: h\r\nConnection: keep-alive, close\r\n\r\n",
            .ok("GET / @h", "Connection: keep-alive, close").closing
        ),
        WireRow(
            "requests are answered in their order",
            "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nHEAD /2 HTTP/1.1\r\nHost: b\r\n\r\nPUT /3 HTTP/1.1\r\nHost: c\r\n\r\n",
            .ok("GET /1 @a"),
            .ok("HEAD /2 @b"),
            .ok("PUT /3 @c")
        ),
        WireRow(
            "a body ends where the next request begins",
            "POST /1 HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nGET GET /2 HTTP/1.1\r\nHost: h\r\n\r\n",
            .ok("POST /1 @h", "Content-Length: 4", body: "GET "),
            .ok("GET /2 @h")
        ),
        WireRow(
            "so do chunks",
            "POST /1 HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n"
                + "POST /2 HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nbGET /3 HTTP/1.1\r\nHost: h\r\n\r\n",
            .ok("POST /1 @h", "Transfer-Encoding: chunked", body: "a"),
            .ok("POST /2 @h", "Content-Length: 1", body: "b"),
            .ok("GET /3 @h")
        ),
        WireRow(
            "a body without a length is the next request",
            "POST / HTTP/1.1\r\nHost: h\r\n\r\nabc\r\n",
            .ok("POST / @h"),
            .refused(400, "The method is invalid.")
        ),
        WireRow(
            "an empty line between requests is forgiven",
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\na\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n",
            .ok("POST / @h", "Content-Length: 1", body: "a"),
            .ok("GET / @h")
        ),
        WireRow(
            "a body that nobody reads is skipped",
            "POST /unread HTTP/1.1\r\nHost: h\r\nContent-Length: 40\r\n\r\n0123456789012345678901234567890123456789",
            .ok("POST /unread @h", "Content-Length: 40")
        ),
        WireRow(
            "one too large to be skipped ends the connection",
            "POST /unread HTTP/1.1\r\nHost: h\r\nContent-Length: 65537\r\n\r\n",
            .ok("POST /unread @h", "Content-Length: 65537").closing
        ),
        WireRow(
            "a refusal comes after the answers due",
            "GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\n\r\nGET /3 HTTP/1.1\r\nHost: h\r\n\r\n",
            .ok("GET /1 @h"),
            .refused(400, "Host is missing.", fields: 0)
        ),
        WireRow(
            "Upgrade is not taken up",
            "GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
            .ok("GET / @h", "Connection: Upgrade", "Upgrade: h2c")
        ),
    ]

    private static func expecting(_ expectation: String) -> String {
        "POST / HTTP/1.1\r\nHost: h\r\nExpect: \(expectation)\r\nContent-Length: 3\r\n\r\nabc"
    }

    private static let closeOnRequest = Answer.ok("GET / @h", "Connection: close").closing
    private static let unmet = Answer.refused(417, "The only supported expectation is 100-continue.", fields: 3)
}

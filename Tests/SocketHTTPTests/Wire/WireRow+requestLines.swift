extension WireRow {
    /// RFC 9112 §2.2 and §3: the first line, and the first lines of other protocols.
    static let requestLines = [
        // MARK: Methods, RFC 9110 §9
        WireRow("GET", "GET / HTTP/1.1\r\nHost: h\r\n\r\n", .ok("GET / @h")),
        WireRow("HEAD has no content", "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n", .ok("HEAD / @h")),
        WireRow("POST without a body", "POST / HTTP/1.1\r\nHost: h\r\n\r\n", .ok("POST / @h")),
        WireRow("PUT", "PUT / HTTP/1.1\r\nHost: h\r\n\r\n", .ok("PUT / @h")),
        WireRow("PATCH", "PATCH / HTTP/1.1\r\nHost: h\r\n\r\n", .ok("PATCH / @h")),
        WireRow("DELETE", "DELETE / HTTP/1.1\r\nHost: h\r\n\r\n", .ok("DELETE / @h")),
        WireRow("OPTIONS", "OPTIONS / HTTP/1.1\r\nHost: h\r\n\r\n", .ok("OPTIONS / @h")),
        WireRow("TRACE", "TRACE / HTTP/1.1\r\nHost: h\r\n\r\n", .ok("TRACE / @h")),
        WireRow(
            "GET may have a body",
            "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc",
            .ok("GET / @h", "Content-Length: 3", body: "abc")
        ),
        WireRow(
            "an unknown method",
            "BREW / HTTP/1.1\r\nHost: h\r\n\r\n",
            .refused(501, "The method or the transfer coding is not implemented.", fields: 1)
        ),
        WireRow(
            "methods are told apart by case",
            "get / HTTP/1.1\r\nHost: h\r\n\r\n",
            .refused(501, "The method or the transfer coding is not implemented.", fields: 1)
        ),
        WireRow(
            "CONNECT",
            "CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\n\r\n",
            .refused(501, "The method or the transfer coding is not implemented.", fields: 1)
        ),
        WireRow(
            "a method of all token characters",
            "!#$%&'*+-.^_`|~09azAZ / HTTP/1.1\r\nHost: h\r\n\r\n",
            .refused(501, "The method or the transfer coding is not implemented.", fields: 1)
        ),
        WireRow("no token as method", "G@T / HTTP/1.1\r\n", .refused(400, "The method is invalid.")),
        WireRow("NUL in the method", "GE\u{0}T / HTTP/1.1\r\n", .refused(400, "The method is invalid.")),
        WireRow("no ASCII in the method", "GE\u{cf} / HTTP/1.1\r\n", .refused(400, "The method is invalid.")),

        // MARK: Blanks
        WireRow("a blank before the method", " GET / HTTP/1.1\r\n", .refused(400, notAMethod)),
        WireRow("a tab before the method", "\tGET / HTTP/1.1\r\n", .refused(400, notAMethod)),
        WireRow("two blanks before the target", "GET  / HTTP/1.1\r\n", .refused(400, malformedVersion)),
        WireRow("a tab before the target", "GET\t/ HTTP/1.1\r\n", .refused(400, "The method is invalid.")),
        WireRow("two blanks after the target", "GET /  HTTP/1.1\r\n", .refused(400, malformedVersion)),
        WireRow("a tab after the target", "GET /\tHTTP/1.1\r\n", .refused(400, malformed)),
        WireRow("a blank in the target", "GET / a HTTP/1.1\r\n", .refused(400, malformedVersion)),
        WireRow("a blank after the version", "GET / HTTP/1.1 \r\n", .refused(400, malformedVersion)),
        WireRow("a tab after the version", "GET / HTTP/1.1\t\r\n", .refused(400, malformedVersion)),
        WireRow("a form feed instead of a blank", "GET\u{c}/ HTTP/1.1\r\n", .refused(400, "The method is invalid.")),

        // MARK: Parts that are missing
        WireRow("only a method", "GET\r\n", .refused(400, "The method is invalid.")),
        WireRow("the simple request of HTTP/0.9", "GET /\r\n", .refused(400, malformed)),
        WireRow("no target", "GET HTTP/1.1\r\n", .refused(400, malformed)),
        WireRow("an empty target", "GET  HTTP/1.1\r\n", .refused(400, "The request target is missing.")),

        // MARK: Versions, RFC 9112 §2.3
        WireRow(
            "a later minor version is 1.1",
            "GET / HTTP/1.9\r\nHost: h\r\n\r\n",
            .ok("GET / @h")
        ),
        WireRow("a major version to come", "GET / HTTP/3.0\r\n", .refused(505, otherVersion)),
        WireRow("a major version long gone", "GET / HTTP/0.9\r\n", .refused(505, otherVersion)),
        WireRow(
            "the preface of HTTP/2",
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\u{0}\u{0}\u{0}\u{4}",
            .refused(505, otherVersion)
        ),
        WireRow("a version in lower case", "GET / http/1.1\r\n", .refused(400, malformedVersion)),
        WireRow("a version without a dot", "GET / HTTP/11\r\n", .refused(400, malformedVersion)),
        WireRow("a version with a comma", "GET / HTTP/1,1\r\n", .refused(400, malformedVersion)),
        WireRow("no digit before the dot", "GET / HTTP/x.1\r\n", .refused(400, malformedVersion)),
        WireRow("something else after it", "GET / HTTP/1.x\r\n", .refused(400, malformedVersion)),
        WireRow("two digits after the dot", "GET / HTTP/1.10\r\n", .refused(400, malformedVersion)),
        WireRow("two digits before the dot", "GET / HTTP/01.1\r\n", .refused(400, malformedVersion)),
        WireRow("nothing after the dot", "GET / HTTP/1.\r\n", .refused(400, malformedVersion)),
        WireRow("another protocol", "GET / HTTPS/1.1\r\n", .refused(400, malformedVersion)),

        // MARK: Empty lines, RFC 9112 §2.2
        WireRow("one empty line is forgiven", "\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", .ok("GET / @h")),
        WireRow("two are not", "\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", .refused(400, notAMethod)),
        WireRow("nor is a bare line feed", "\nGET / HTTP/1.1\r\n", .refused(400, notAMethod)),
        WireRow("nor is a carriage return alone", "\rX", .refused(400, notAMethod)),
        WireRow("nor one too many", "\r\r\nGET / HTTP/1.1\r\n", .refused(400, notAMethod)),

        // MARK: Other protocols
        WireRow("TLS", "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}\u{fc}\u{3}\u{3}", .refused(400, notAMethod)),
        WireRow("SSH", "SSH-2.0-OpenSSH_9.2p1\r\n", .refused(400, "The method is invalid.")),
        WireRow("SMTP", "EHLO example.com\r\n", .refused(400, malformed)),
        WireRow("a response", "HTTP/1.1 200 OK\r\n", .refused(400, "The method is invalid.")),
        WireRow("JSON alone", "{\"a\":1}\r\n", .refused(400, notAMethod)),
        WireRow("the PROXY protocol, as text", "PROXY TCP4 1.2.3.4 5.6.7.8 9 80\r\n", .refused(400, untrusted)),
        WireRow("the PROXY protocol, unknown client", "PROXY UNKNOWN\r\n", .refused(400, untrusted)),
        WireRow("the PROXY protocol, in bytes", "\r\n\r\n\u{0}\r\nQUIT\n", .refused(400, untrusted)),
        WireRow("nearly the PROXY protocol", "\r\n\r\n\u{0}\r\nQUIT\r\n", .refused(400, notAMethod)),

        // MARK: Cut off
        WireRow("nothing at all", "", then: .cutOff),
        WireRow("half a request line", "GET / HT", then: .cutOff),
        WireRow("no end of the fields", "GET / HTTP/1.1\r\nHost: h\r\n", then: .cutOff),
        WireRow("half a PROXY header", "\r\n\r\n\u{0}\r\nQ", then: .cutOff),
        WireRow("half a line end", "GET / HTTP/1.1\r\nHost: h\r\n\r", then: .cutOff),
    ]

    private static let malformed = "The request line is malformed."
    private static let malformedVersion = "The HTTP version is malformed."
    private static let untrusted =
        "This peer is not one of the trusted proxies, whose PROXY headers the server reads."
    private static let notAMethod = "The request does not start with a method."
    private static let otherVersion = "Only HTTP/1.1 and HTTP/1.0 are supported."
}

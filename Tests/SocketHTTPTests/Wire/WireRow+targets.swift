extension WireRow {
    /// RFC 9112 §3.2: the four forms of a target, in the alphabet of RFC 3986 and without
    /// encodings that hide a character.
    static let targets = [
        // MARK: Origin-form
        WireRow("path and query", "GET /a/b?c=d&e HTTP/1.1\r\nHost: h\r\n\r\n", .ok("GET /a/b ?c=d&e @h")),
        WireRow("an empty query", "GET /a? HTTP/1.1\r\nHost: h\r\n\r\n", .ok("GET /a ? @h")),
        WireRow("a question mark in the query", "GET /?a?/b HTTP/1.1\r\nHost: h\r\n\r\n", .ok("GET / ?a?/b @h")),
        WireRow("empty segments stay", "GET //a//b HTTP/1.1\r\nHost: h\r\n\r\n", .ok("GET //a//b @h")),
        WireRow(
            "what is encoded stays so",
            "GET /%C3%a4%20?%2F%00 HTTP/1.1\r\nHost: h\r\n\r\n",
            .ok("GET /%C3%a4%20 ?%2F%00 @h")
        ),
        WireRow(
            "every character of a path",
            "GET /aZ09-._~!$&'()*+,;=:@ HTTP/1.1\r\nHost: h\r\n\r\n",
            .ok("GET /aZ09-._~!$&'()*+,;=:@ @h")
        ),
        WireRow("dots within a name", "GET /.a/b..c/... HTTP/1.1\r\nHost: h\r\n\r\n", .ok("GET /.a/b..c/... @h")),

        // MARK: Absolute-form
        WireRow(
            "an absolute target overrides Host",
            "GET http://a.b:81/c?d HTTP/1.1\r\nHost: h\r\n\r\n",
            .ok("GET /c ?d @a.b:81")
        ),
        WireRow("one without a path", "GET http://a HTTP/1.1\r\nHost: h\r\n\r\n", .ok("GET / @a")),
        WireRow("one with a query only", "GET HTTPS://a?b HTTP/1.1\r\nHost: h\r\n\r\n", .ok("GET / ?b @a")),
        WireRow("one to an address", "GET http://[::1]:8/ HTTP/1.1\r\nHost: h\r\n\r\n", .ok("GET / @[::1]:8")),
        WireRow(
            "an absolute target does not replace Host",
            "GET http://a/ HTTP/1.1\r\n\r\n",
            .refused(400, "Host is missing.", fields: 0)
        ),
        WireRow("a user in the authority", "GET http://u@a/ HTTP/1.1\r\n", .refused(400, badAuthority)),
        WireRow("an empty authority", "GET http:///a HTTP/1.1\r\n", .refused(400, badAuthority)),
        WireRow("a port too high", "GET http://a:65536/ HTTP/1.1\r\n", .refused(400, badAuthority)),
        WireRow("an address without its end", "GET http://[::1/ HTTP/1.1\r\n", .refused(400, badAuthority)),
        WireRow("another scheme", "GET ftp://a/ HTTP/1.1\r\n", .refused(400, "The request target is invalid.")),

        // MARK: Asterisk-form and authority-form
        WireRow("an asterisk for OPTIONS", "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", .ok("OPTIONS * @h")),
        WireRow("an asterisk for GET", "GET * HTTP/1.1\r\n", .refused(400, "The request target is invalid.")),
        WireRow("more than an asterisk", "OPTIONS *a HTTP/1.1\r\n", .refused(400, "The request target is invalid.")),
        WireRow("an authority for GET", "GET h:443 HTTP/1.1\r\n", .refused(400, "The request target is invalid.")),
        WireRow("a path without its slash", "GET a/b HTTP/1.1\r\n", .refused(400, "The request target is invalid.")),

        // MARK: Characters that must be encoded
        WireRow("a fragment", "GET /a#b HTTP/1.1\r\n", .refused(400, unencodedPath)),
        WireRow("a backslash", "GET /a\\b HTTP/1.1\r\n", .refused(400, unencodedPath)),
        WireRow("brackets", "GET /[a] HTTP/1.1\r\n", .refused(400, unencodedPath)),
        WireRow("a quote in the query", "GET /?\" HTTP/1.1\r\n", .refused(400, unencodedQuery)),
        WireRow("no ASCII", "GET /\u{e4} HTTP/1.1\r\n", .refused(400, "The request line is malformed.")),
        WireRow("a control character", "GET /\u{1} HTTP/1.1\r\n", .refused(400, "The request line is malformed.")),
        WireRow("DEL", "GET /\u{7f} HTTP/1.1\r\n", .refused(400, "The request line is malformed.")),

        // MARK: Encodings that are invalid, or hide something
        WireRow("a per cent sign at the end", "GET /a% HTTP/1.1\r\n", .refused(400, badEncoding)),
        WireRow("one digit only", "GET /%1 HTTP/1.1\r\n", .refused(400, badEncoding)),
        WireRow("no digits", "GET /%g0 HTTP/1.1\r\n", .refused(400, badEncoding)),
        WireRow("the same in a query", "GET /?%g0 HTTP/1.1\r\n", .refused(400, badQueryEncoding)),
        WireRow("an encoded slash", "GET /a%2Fb HTTP/1.1\r\n", .refused(400, hiddenByte)),
        WireRow("an encoded backslash", "GET /a%5cb HTTP/1.1\r\n", .refused(400, hiddenByte)),
        WireRow("an encoded NUL", "GET /a%00 HTTP/1.1\r\n", .refused(400, hiddenByte)),
        WireRow("an encoded line end", "GET /%0d%0aX:y HTTP/1.1\r\n", .refused(400, hiddenByte)),
        WireRow("an encoding of an encoding", "GET /%252e HTTP/1.1\r\n", .refused(400, "The path is encoded twice.")),
        WireRow("an encoded per cent sign", "GET /5%25 HTTP/1.1\r\nHost: h\r\n\r\n", .ok("GET /5%25 @h")),

        // MARK: Dot segments
        WireRow("one dot", "GET /./a HTTP/1.1\r\n", .refused(400, dotSegment)),
        WireRow("two dots", "GET /a/../b HTTP/1.1\r\n", .refused(400, dotSegment)),
        WireRow("two dots at the end", "GET /a/.. HTTP/1.1\r\n", .refused(400, dotSegment)),
        WireRow("two dots before a query", "GET /..?a HTTP/1.1\r\n", .refused(400, dotSegment)),
        WireRow("two encoded dots", "GET /%2e%2E/a HTTP/1.1\r\n", .refused(400, dotSegment)),
        WireRow("one dot of each kind", "GET /.%2e/a HTTP/1.1\r\n", .refused(400, dotSegment)),
        WireRow("two dots in absolute-form", "GET http://a/.. HTTP/1.1\r\n", .refused(400, dotSegment)),
        WireRow("two dots in a query mean nothing", "GET /?/../ HTTP/1.1\r\nHost: h\r\n\r\n", .ok("GET / ?/../ @h")),
    ]

    private static let badAuthority = "The authority of the request target is invalid."
    private static let badEncoding = "The path has an invalid percent-encoding."
    private static let badQueryEncoding = "The query has an invalid percent-encoding."
    private static let dotSegment = "The path has a dot segment."
    private static let hiddenByte = "The path has an encoded control character, slash or backslash."
    private static let unencodedPath = "The path has a character that must be percent-encoded."
    private static let unencodedQuery = "The query has a character that must be percent-encoded."
}

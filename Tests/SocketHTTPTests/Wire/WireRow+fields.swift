extension WireRow {
    /// RFC 9112 §2.2: lines end with CR and LF, and neither occurs alone.
    static let lineEnds = [
        WireRow("LF after the request line", "GET / HTTP/1.1\nHost: h\r\n\r\n", .refused(400, noCarriageReturn)),
        WireRow("LF after a field", "GET / HTTP/1.1\r\nHost: h\n\r\n", .refused(400, noCarriageReturn)),
        WireRow("LF after the fields", "GET / HTTP/1.1\r\nHost: h\r\n\n", .refused(400, noCarriageReturn)),
        WireRow("LF everywhere", "GET / HTTP/1.1\nHost: h\n\n", .refused(400, noCarriageReturn)),
        WireRow(
            "CR in the request line",
            "GET / HTTP/1.1\rHost: h\r\n",
            .refused(400, "The HTTP version is malformed.")
        ),
        WireRow("CR before CR LF", "GET / HTTP/1.1\r\r\n", .refused(400, "The HTTP version is malformed.")),
        WireRow("CR in a value", "GET / HTTP/1.1\r\nHost: h\r\nX: a\rb\r\n\r\n", .refused(400, controlCharacter)),
        WireRow(
            "CR at the end of a value",
            "GET / HTTP/1.1\r\nHost: h\r\nX: a\r\r\n\r\n",
            .refused(400, controlCharacter)
        ),
        WireRow("CR in a name", "GET / HTTP/1.1\r\nHost: h\r\nX\rY: a\r\n\r\n", .refused(400, badName)),
        WireRow("CR instead of a line end", "GET / HTTP/1.1\r\nHost: h\rX: a\r\n\r\n", .refused(400, controlCharacter)),
        WireRow("CR alone before the end", "GET / HTTP/1.1\r\nHost: h\r\n\r\r\n", .refused(400, badName)),
        WireRow("a folded value", "GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n b\r\n\r\n", .refused(400, badName)),
        WireRow("one folded by a tab", "GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n\tb\r\n\r\n", .refused(400, badName)),
        WireRow("a blank first field", "GET / HTTP/1.1\r\n Host: h\r\n\r\n", .refused(400, badName)),
        WireRow("a line of blanks", "GET / HTTP/1.1\r\nHost: h\r\n  \r\n\r\n", .refused(400, badName)),
    ]

    /// RFC 9110 §5, RFC 9112 §5: names and values.
    static let fields = [
        WireRow(
            "order, case and repetition are kept",
            "GET / HTTP/1.1\r\nB: 1\r\nhOsT: h\r\nA: 2\r\nb: 3\r\n\r\n",
            .ok("GET / @h", "B: 1", "A: 2", "b: 3")
        ),
        WireRow(
            "blanks around a value are not of it, those within are",
            "GET / HTTP/1.1\r\nHost:h\r\nX: \t a  b\tc \t\r\n\r\n",
            .ok("GET / @h", "X: a  b\tc")
        ),
        WireRow(
            "a value may be empty, or blank",
            "GET / HTTP/1.1\r\nHost: h\r\nX:\r\nY: \t \r\n\r\n",
            .ok("GET / @h", "X: ", "Y: ")
        ),
        WireRow(
            "a colon in a value",
            "GET / HTTP/1.1\r\nHost: h\r\nX: a:b: c\r\n\r\n",
            .ok("GET / @h", "X: a:b: c")
        ),
        WireRow(
            "bytes that are no ASCII stay as they are",
            "GET / HTTP/1.1\r\nHost: h\r\nX: \u{80}\u{c3}\u{a4}\u{ff}\r\n\r\n",
            .ok("GET / @h", "X: \u{80}\u{c3}\u{a4}\u{ff}")
        ),
        WireRow(
            "a name of all token characters",
            "GET / HTTP/1.1\r\nHost: h\r\n!#$%&'*+-.^_`|~09azAZ: a\r\n\r\n",
            .ok("GET / @h", "!#$%&'*+-.^_`|~09azAZ: a")
        ),
        WireRow("a blank before the colon", "GET / HTTP/1.1\r\nHost : h\r\n\r\n", .refused(400, badName)),
        WireRow("a tab before the colon", "GET / HTTP/1.1\r\nHost\t: h\r\n\r\n", .refused(400, badName)),
        WireRow("a blank within a name", "GET / HTTP/1.1\r\nX Y: a\r\n\r\n", .refused(400, badName)),
        WireRow("no colon", "GET / HTTP/1.1\r\nHost\r\n\r\n", .refused(400, badName)),
        WireRow("no name", "GET / HTTP/1.1\r\n: h\r\n\r\n", .refused(400, badName)),
        WireRow("no token as name", "GET / HTTP/1.1\r\nX(Y): a\r\n\r\n", .refused(400, badName)),
        WireRow("a name that is no ASCII", "GET / HTTP/1.1\r\nX\u{e4}: a\r\n\r\n", .refused(400, badName)),
        WireRow("NUL in a name", "GET / HTTP/1.1\r\nX\u{0}: a\r\n\r\n", .refused(400, badName)),
        WireRow("NUL in a value", "GET / HTTP/1.1\r\nX: a\u{0}b\r\n\r\n", .refused(400, controlCharacter)),
        WireRow("NUL at the end of a value", "GET / HTTP/1.1\r\nX: a\u{0}\r\n\r\n", .refused(400, controlCharacter)),
        WireRow("a form feed in a value", "GET / HTTP/1.1\r\nX: a\u{c}\r\n\r\n", .refused(400, controlCharacter)),
        WireRow("a vertical tab as blank", "GET / HTTP/1.1\r\nX:\u{b}a\r\n\r\n", .refused(400, controlCharacter)),
        WireRow("ESC in a value", "GET / HTTP/1.1\r\nX: \u{1b}[2J\r\n\r\n", .refused(400, controlCharacter)),
        WireRow("DEL in a value", "GET / HTTP/1.1\r\nX: a\u{7f}\r\n\r\n", .refused(400, controlCharacter)),
    ]

    /// RFC 9112 §3.2: one `Host`, with the grammar of RFC 3986.
    static let hosts = [
        WireRow("no Host", "GET / HTTP/1.1\r\nX: a\r\n\r\n", .refused(400, "Host is missing.", fields: 1)),
        WireRow("no Host in HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", .ok("GET /").closing),
        WireRow("two of the same", "GET / HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n", .refused(400, twoHosts, fields: 2)),
        WireRow("two in HTTP/1.0", "GET / HTTP/1.0\r\nHost: h\r\nhost: i\r\n\r\n", .refused(400, twoHosts, fields: 2)),
        WireRow("an empty one", "GET / HTTP/1.1\r\nHost:\r\n\r\n", .refused(400, "Host is invalid.", fields: 1)),
        WireRow("a list", "GET / HTTP/1.1\r\nHost: h, i\r\n\r\n", .refused(400, "Host is invalid.", fields: 1)),
        WireRow("a path", "GET / HTTP/1.1\r\nHost: h/a\r\n\r\n", .refused(400, "Host is invalid.", fields: 1)),
        WireRow("a URL", "GET / HTTP/1.1\r\nHost: http://h\r\n\r\n", .refused(400, "Host is invalid.", fields: 1)),
        WireRow("a user", "GET / HTTP/1.1\r\nHost: u@h\r\n\r\n", .refused(400, "Host is invalid.", fields: 1)),
        WireRow("no ASCII", "GET / HTTP/1.1\r\nHost: \u{e4}\r\n\r\n", .refused(400, "Host is invalid.", fields: 1)),
        WireRow("a port only", "GET / HTTP/1.1\r\nHost: :80\r\n\r\n", .refused(400, "Host is invalid.", fields: 1)),
        WireRow("two ports", "GET / HTTP/1.1\r\nHost: h:80:80\r\n\r\n", .refused(400, "Host is invalid.", fields: 1)),
        WireRow(
            "a bare IPv6 address",
            "GET / HTTP/1.1\r\nHost: ::1\r\n\r\n",
            .refused(400, "Host is invalid.", fields: 1)
        ),
        WireRow("an IPv6 address", "GET / HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n", .ok("GET / @[::1]:8080")),
        WireRow("an IPv4 address", "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", .ok("GET / @127.0.0.1")),
        WireRow("an empty port", "GET / HTTP/1.1\r\nHost: h:\r\n\r\n", .ok("GET / @h:")),
        WireRow(
            "a refusal of HEAD has no content",
            "HEAD / HTTP/1.1\r\n\r\n",
            .refused(400, "Host is missing.", fields: 0).toHead
        ),
    ]

    private static let badName = "A field name is invalid."
    private static let controlCharacter = "A field value has a control character."
    private static let noCarriageReturn = "A line ends without a carriage return."
    private static let twoHosts = "The Host field appears more than once."
}

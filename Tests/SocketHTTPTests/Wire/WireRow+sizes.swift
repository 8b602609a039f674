extension WireRow {
    /// Requests that exceed the limits of `WireRow.limits`, and requests that exactly reach them.
    static let sizes = [
        WireRow(
            "a target of the limit",
            "GET /\(a(63)) HTTP/1.1\r\nHost: h\r\n\r\n",
            .ok("GET /\(a(63)) @h")
        ),
        WireRow("a target over the limit", "GET /\(a(64)) HTTP/1.1\r\n", .refused(414, targetTooLong)),
        WireRow("a target without end", "GET /\(a(300))", .refused(414, targetTooLong)),
        WireRow("a method without end", a(300), .refused(414, targetTooLong)),
        WireRow(
            "fields of the limit",
            "GET / HTTP/1.1\r\nHost: h\r\nX: \(a(480))\r\n\r\n",
            .ok("GET / @h", "X: \(a(480))")
        ),
        WireRow(
            "fields over the limit",
            "GET / HTTP/1.1\r\nHost: h\r\nX: \(a(481))\r\n\r\n",
            .refused(431, fieldsTooLarge)
        ),
        WireRow("a field without end", "GET / HTTP/1.1\r\nHost: h\r\nX: \(a(600))", .refused(431, fieldsTooLarge)),
        WireRow("a name without end", "GET / HTTP/1.1\r\nHost: h\r\n\(a(600))", .refused(431, fieldsTooLarge)),
        WireRow(
            "as many fields as the limit",
            "GET / HTTP/1.1\r\nHost: h\r\nA:\r\nB:\r\nC:\r\nD:\r\nE:\r\nF:\r\nG:\r\n\r\n",
            .ok("GET / @h", "A: ", "B: ", "C: ", "D: ", "E: ", "F: ", "G: ")
        ),
        WireRow(
            "one field more",
            "GET / HTTP/1.1\r\nHost: h\r\nA:\r\nB:\r\nC:\r\nD:\r\nE:\r\nF:\r\nG:\r\nH:\r\n\r\n",
            .refused(431, fieldsTooLarge)
        ),
        WireRow(
            "a body of the limit",
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 32\r\n\r\n\(a(32))",
            .ok("POST / @h", "Content-Length: 32", body: a(32))
        ),
        WireRow(
            "a body over the limit is refused, but little enough to be skipped",
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 33\r\n\r\n\(a(33))",
            .failed(413, bodyTooLarge)
        ),
        WireRow(
            "a body far over the limit is refused before it comes",
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 65537\r\n\r\n",
            .failed(413, bodyTooLarge).closing
        ),
        WireRow(
            "chunks of the limit together",
            "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n\(a(16))\r\n10\r\n\(a(16))\r\n0\r\n\r\n",
            .ok("POST / @h", "Transfer-Encoding: chunked", body: a(32))
        ),
        WireRow(
            "a chunk over the limit is refused before it comes",
            "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n\(a(16))\r\n11\r\n",
            .failed(413, bodyTooLarge).closing
        ),
    ]

    private static func a(_ count: Int) -> String {
        String(repeating: "a", count: count)
    }

    private static let bodyTooLarge = "The request's body is too large."
    private static let fieldsTooLarge = "The header fields are too large or too many."
    private static let targetTooLong = "The request target is too long."
}

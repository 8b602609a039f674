extension WireRow {
    /// RFC 9112 §7.1: the chunks of a request's body.
    static let chunks = [
        // MARK: Sizes
        chunked("one chunk", "3\r\nabc\r\n0\r\n\r\n", body: "abc"),
        chunked("several", "1\r\na\r\n2\r\nbc\r\n3\r\ndef\r\n0\r\n\r\n", body: "abcdef"),
        chunked(
            "hexadecimal in either case",
            "a\r\n0123456789\r\nB\r\n0123456789a\r\n0\r\n\r\n",
            body: "01234567890123456789a"
        ),
        chunked("leading zeros", "0003\r\nabc\r\n000\r\n\r\n", body: "abc"),
        chunked("sixteen digits", "0000000000000003\r\nabc\r\n0000000000000000\r\n\r\n", body: "abc"),
        chunked("content that looks like a chunk", "8\r\n0\r\n\r\n1\r\n\r\n0\r\n\r\n", body: "0\r\n\r\n1\r\n"),
        badChunks("seventeen digits", "00000000000000003\r\nabc\r\n0\r\n\r\n"),
        badChunks("2^64 and three", "10000000000000003\r\nabc\r\n0\r\n\r\n"),
        badChunks("2^63", "8000000000000000\r\n"),
        WireRow("2^63 - 1 is a size", head + "7fffffffffffffff\r\n", tooLarge),
        badChunks("no size", "\r\nabc\r\n0\r\n\r\n"),
        badChunks("no hexadecimal digit", "g\r\n"),
        badChunks("a plus", "+3\r\nabc\r\n0\r\n\r\n"),
        badChunks("a minus", "-3\r\nabc\r\n0\r\n\r\n"),
        badChunks("a prefix", "0x3\r\nabc\r\n0\r\n\r\n"),
        badChunks("an underscore", "1_0\r\n"),
        badChunks("a blank before", " 3\r\nabc\r\n0\r\n\r\n"),
        badChunks("a blank after", "3 \r\nabc\r\n0\r\n\r\n"),
        badChunks("a tab after", "3\t\r\nabc\r\n0\r\n\r\n"),
        badChunks("NUL after", "3\u{0}\r\nabc\r\n0\r\n\r\n"),

        // MARK: Line ends
        badChunks("LF after the size", "3\nabc\r\n0\r\n\r\n"),
        badChunks("CR after the size", "3\rabc\r\n0\r\n\r\n"),
        badChunks("two CR after the size", "3\r\r\nabc\r\n0\r\n\r\n"),
        badChunks("LF after the content", "3\r\nabc\n0\r\n\r\n"),
        badChunks("CR after the content", "3\r\nabc\r0\r\n\r\n"),
        badChunks("a blank instead of CR after the content", "3\r\nabc \n0\r\n\r\n"),
        badChunks("nothing after the content", "3\r\nabc0\r\n\r\n"),
        badChunks("more content than announced", "3\r\nabcd\r\n0\r\n\r\n"),
        badChunks("less content than announced", "3\r\nab\r\n0\r\n\r\n"),
        badChunks("LF after the last chunk", "0\n\r\n"),
        badChunks("LF at the end", "0\r\n\n"),
        badChunks("CR at the end", "0\r\n\rX"),

        // MARK: Extensions
        chunked("an extension", "3;a\r\nabc\r\n0;b\r\n\r\n", body: "abc"),
        chunked("several with values", "3;a=b;c=\"d;\\\"\t \u{e4}\"\r\nabc\r\n0\r\n\r\n", body: "abc"),
        badChunks("an extension without a name", "3;\r\nabc\r\n0\r\n\r\n"),
        badChunks("two semicolons", "3;;a\r\nabc\r\n0\r\n\r\n"),
        badChunks("a blank before the value", "3;a =b\r\nabc\r\n0\r\n\r\n"),
        badChunks("a blank in the value", "3;a=b c\r\nabc\r\n0\r\n\r\n"),
        badChunks("one with a value only", "3;=a\r\nabc\r\n0\r\n\r\n"),
        badChunks("one with an empty value", "3;a=\r\nabc\r\n0\r\n\r\n"),
        badChunks("a blank before the extension", "3 ;a\r\nabc\r\n0\r\n\r\n"),
        badChunks("a blank after the semicolon", "3; a\r\nabc\r\n0\r\n\r\n"),
        badChunks("a blank after the extension", "3;a \r\nabc\r\n0\r\n\r\n"),
        badChunks("LF in an extension", "3;a\nabc\r\n0\r\n\r\n"),
        badChunks("a line end in quotes", "3;a=\"\r\n\"\r\nabc\r\n0\r\n\r\n"),
        badChunks("CR after a backslash", "3;a=\"\\\r\"\r\nabc\r\n0\r\n\r\n"),
        badChunks("NUL in quotes", "3;a=\"\u{0}\"\r\nabc\r\n0\r\n\r\n"),
        badChunks("something after the quotes", "3;a=\"b\"c\r\nabc\r\n0\r\n\r\n"),
        chunked(
            "extensions up to their bound",
            "3;\(String(repeating: "a", count: 4094))\r\nabc\r\n0\r\n\r\n",
            body: "abc"
        ),
        badChunks("and a byte further", "3;\(String(repeating: "a", count: 4095))\r\nabc\r\n0;a\r\n\r\n"),

        // MARK: Trailers
        chunked("a trailer is dropped", "3\r\nabc\r\n0\r\nX: y\r\nZ:\r\n\r\n", body: "abc"),
        chunked("also one about framing", "0\r\nContent-Length: 9\r\nTransfer-Encoding: gzip\r\n\r\n"),
        chunked("also one about everything", "0\r\nHost: i\r\nAuthorization: Basic eA==\r\nExpect: x\r\n\r\n"),
        badChunks("a trailer without a colon", "0\r\nX\r\n\r\n"),
        badChunks("one without a name", "0\r\n: y\r\n\r\n"),
        badChunks("one with a blank before the colon", "0\r\nX : y\r\n\r\n"),
        badChunks("one that is folded", "0\r\nX: y\r\n z\r\n\r\n"),
        badChunks("one with LF", "0\r\nX: y\n\r\n"),
        badChunks("one with CR", "0\r\nX: y\rz\r\n\r\n"),
        badChunks("one with NUL", "0\r\nX: \u{0}\r\n\r\n"),
        badChunks("a request in its place", "0\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"),
        chunked("trailers up to their bound", "0\r\nX:\(String(repeating: "a", count: 506))\r\n\r\n"),
        WireRow(
            "and a byte further",
            head + "0\r\nX:\(String(repeating: "a", count: 507))\r\n\r\n",
            tooLarge
        ),

        // MARK: Cut off
        cutOffChunks("cut off before the size", ""),
        cutOffChunks("cut off in the size", "3"),
        cutOffChunks("cut off in the content", "3\r\nab"),
        cutOffChunks("cut off after the last chunk", "3\r\nabc\r\n0\r\n"),
        cutOffChunks("cut off in the trailer", "0\r\nX: y\r\n"),
    ]

    private static let head = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"

    private static func chunked(_ description: String, _ chunks: String, body: String = "") -> WireRow {
        WireRow(description, head + chunks, .ok("POST / @h", "Transfer-Encoding: chunked", body: body))
    }

    private static func badChunks(_ description: String, _ chunks: String) -> WireRow {
        WireRow(description, head + chunks, .failed(400, "The chunks of the body are malformed.").closing)
    }

    private static func cutOffChunks(_ description: String, _ chunks: String) -> WireRow {
        WireRow(
            description,
            head + chunks,
            .failed(400, "The connection ended before the end of the body.").closing,
            then: .cutOff
        )
    }

    private static let tooLarge = Answer.failed(413, "The request's body is too large.").closing
}

extension WireRow {
    /// RFC 9112 §6.2, RFC 9110 §8.6: `Content-Length`.
    static let lengths = [
        WireRow(
            "a body of that length, and no more",
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\na\r\n\u{0}\u{ff}",
            .ok("POST / @h", "Content-Length: 5", body: "a\r\n\u{0}\u{ff}")
        ),
        WireRow(
            "zero",
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n",
            .ok("POST / @h", "Content-Length: 0")
        ),
        WireRow(
            "leading zeros",
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0003\r\n\r\nabc",
            .ok("POST / @h", "Content-Length: 0003", body: "abc")
        ),
        WireRow(
            "in any case, with blanks around",
            "POST / HTTP/1.1\r\nHost: h\r\ncONTENT-lENGTH: \t3 \r\n\r\nabc",
            .ok("POST / @h", "cONTENT-lENGTH: 3", body: "abc")
        ),
        WireRow(
            "in HTTP/1.0",
            "POST / HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc",
            .ok("POST /", "Content-Length: 3", body: "abc").closing
        ),
        WireRow(
            "a body that is cut off is not taken for whole",
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nabc",
            .failed(400, "The connection ended before the end of the body.").closing,
            then: .cutOff
        ),
        WireRow(
            "twice the same",
            post("Content-Length: 3\r\nContent-Length: 3", "abc"),
            .refused(400, twice, fields: 3)
        ),
        WireRow("twice", post("Content-Length: 3\r\ncontent-length: 0", "abc"), .refused(400, twice, fields: 3)),
        WireRow("a list of the same", post("Content-Length: 3, 3", "abc"), .refused(400, noNumber, fields: 2)),
        WireRow("a list", post("Content-Length: 3,0", "abc"), .refused(400, noNumber, fields: 2)),
        WireRow("a plus", post("Content-Length: +3", "abc"), .refused(400, noNumber, fields: 2)),
        WireRow("a minus", post("Content-Length: -3", "abc"), .refused(400, noNumber, fields: 2)),
        WireRow("minus zero", post("Content-Length: -0", ""), .refused(400, noNumber, fields: 2)),
        WireRow("hexadecimal", post("Content-Length: 0x3", "abc"), .refused(400, noNumber, fields: 2)),
        WireRow("hexadecimal digits", post("Content-Length: a", "0123456789"), .refused(400, noNumber, fields: 2)),
        WireRow("a fraction", post("Content-Length: 3.0", "abc"), .refused(400, noNumber, fields: 2)),
        WireRow("a power", post("Content-Length: 3e0", "abc"), .refused(400, noNumber, fields: 2)),
        WireRow("an underscore", post("Content-Length: 1_0", "0123456789"), .refused(400, noNumber, fields: 2)),
        WireRow(
            "a blank between digits",
            post("Content-Length: 1 0", "0123456789"),
            .refused(400, noNumber, fields: 2)
        ),
        WireRow(
            "digits of another script",
            post("Content-Length: \u{d9}\u{a3}", "abc"),
            .refused(400, noNumber, fields: 2)
        ),
        WireRow("nothing", post("Content-Length:", ""), .refused(400, tooLarge, fields: 2)),
        WireRow("2^63 - 1 is a number", post("Content-Length: 9223372036854775807", ""), bodyTooLarge),
        WireRow("2^63", post("Content-Length: 9223372036854775808", ""), .refused(400, tooLarge, fields: 2)),
        WireRow("2^64 + 3", post("Content-Length: 18446744073709551619", "abc"), .refused(400, tooLarge, fields: 2)),
        WireRow(
            "what comes before the body is not the length's business",
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length : 3\r\n\r\nabc",
            .refused(400, "A field name is invalid.")
        ),
    ]

    /// RFC 9112 §6.1 and §6.3: `Transfer-Encoding`.
    static let transferCodings = [
        WireRow(
            "chunked",
            post("Transfer-Encoding: chunked", "0\r\n\r\n"),
            .ok("POST / @h", "Transfer-Encoding: chunked")
        ),
        WireRow(
            "in any case, with blanks around",
            post("tRANSFER-eNCODING:\tChunKED \t", "3\r\nabc\r\n0\r\n\r\n"),
            .ok("POST / @h", "tRANSFER-eNCODING: ChunKED", body: "abc")
        ),
        WireRow(
            "with a length before",
            post("Content-Length: 3\r\nTransfer-Encoding: chunked", "0\r\n\r\n"),
            .refused(400, "Content-Length and Transfer-Encoding cannot be combined.", fields: 3)
        ),
        WireRow(
            "with a length after",
            post("Transfer-Encoding: chunked\r\nContent-Length: 3", "0\r\n\r\n"),
            .refused(400, "Content-Length and Transfer-Encoding cannot be combined.", fields: 3)
        ),
        WireRow(
            "with a length of zero, and another request smuggled in",
            post("Content-Length: 0\r\nTransfer-Encoding: chunked", "0\r\n\r\nGET /admin HTTP/1.1\r\nHost: h\r\n\r\n"),
            .refused(400, "Content-Length and Transfer-Encoding cannot be combined.", fields: 3)
        ),
        WireRow(
            "in HTTP/1.0",
            "POST / HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            .refused(400, "HTTP/1.0 has no Transfer-Encoding.", fields: 2)
        ),
        WireRow("another coding first", post("Transfer-Encoding: gzip, chunked", ""), notImplemented),
        WireRow(
            "another one in its own line",
            post("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked", ""),
            notImplemented3
        ),
        WireRow("chunked not last", post("Transfer-Encoding: chunked, gzip", ""), .refused(400, notFinal, fields: 2)),
        WireRow(
            "not last by lines",
            post("Transfer-Encoding: chunked\r\nTransfer-Encoding: x", ""),
            .refused(400, notFinal, fields: 3)
        ),
        WireRow("chunked twice", post("Transfer-Encoding: chunked, chunked", ""), .refused(400, notFinal, fields: 2)),
        WireRow(
            "twice by lines",
            post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", ""),
            .refused(400, notFinal, fields: 3)
        ),
        WireRow("only another one", post("Transfer-Encoding: gzip", ""), .refused(400, notFinal, fields: 2)),
        WireRow("identity", post("Transfer-Encoding: identity", ""), .refused(400, notFinal, fields: 2)),
        WireRow("nothing", post("Transfer-Encoding:", ""), .refused(400, notFinal, fields: 2)),
        WireRow("an empty element first", post("Transfer-Encoding: ,chunked", ""), .refused(400, notFinal, fields: 2)),
        WireRow("an empty element last", post("Transfer-Encoding: chunked,", ""), .refused(400, notFinal, fields: 2)),
        WireRow("a parameter", post("Transfer-Encoding: chunked;q=1", ""), .refused(400, notFinal, fields: 2)),
        WireRow("quotes", post("Transfer-Encoding: \"chunked\"", ""), .refused(400, notFinal, fields: 2)),
        WireRow("a name that begins so", post("Transfer-Encoding: chunkedx", ""), .refused(400, notFinal, fields: 2)),
        WireRow("a name that ends so", post("Transfer-Encoding: xchunked", ""), .refused(400, notFinal, fields: 2)),
        WireRow(
            "a control character before",
            post("Transfer-Encoding: \u{b}chunked", ""),
            .refused(400, "A field value has a control character.")
        ),
        WireRow(
            "a name that only looks so",
            post("Transfer-Encoding\u{b2}: chunked", ""),
            .refused(400, "A field name is invalid.")
        ),
        WireRow(
            "an underscore is no hyphen",
            post("Transfer_Encoding: chunked\r\nContent-Length: 3", "abc"),
            .ok("POST / @h", "Transfer_Encoding: chunked", "Content-Length: 3", body: "abc")
        ),
    ]

    private static func post(_ fields: String, _ body: String) -> String {
        "POST / HTTP/1.1\r\nHost: h\r\n\(fields)\r\n\r\n\(body)"
    }

    private static let bodyTooLarge = Answer.failed(413, "The request's body is too large.").closing
    private static let noNumber = "Content-Length is not a number."
    private static let notFinal = "Transfer-Encoding must end in chunked, once."
    private static let notImplemented = Answer.refused(
        501,
        "The method or the transfer coding is not implemented.",
        fields: 2
    )
    private static let notImplemented3 = Answer.refused(
        501,
        "The method or the transfer coding is not implemented.",
        fields: 3
    )
    private static let tooLarge = "Content-Length is empty or too large."
    private static let twice = "The Content-Length field appears more than once."
}

import HTTPTypes
import Testing

@testable import SocketHTTP

@Suite struct HeadParserTests {
    @Test(arguments: [
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.0\r\n\r\n",
        "GET / HTTP/1.9\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nhOsT:a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: \t a:80 \t\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX:\r\nY: \t\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n!#$%&'*+-.^_`|~09azAZ: \u{e4}\t~ !\r\n\r\n",
        "GET http://a.b:1/c?d HTTP/1.1\r\nHost: e\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0009223372036854775807\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \tChunked \r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\n",
        "POST / HTTP/1.0\r\nExpect: anything\r\nContent-Length: 1\r\n\r\n",
    ])
    func aGoodHeadIsTakenInWhateverPortionsItComes(text: String) {
        for portions in portions(text.utf8.count) {
            #expect(outcome(of: text, in: portions) == .complete(text.utf8.count), "\(portions)")
        }
    }

    @Test(arguments: [
        // The line's end
        "GET / HTTP/1.1\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n\n",
        "GET / HTTP/1.1\r\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\rHost: a\r\n\r\n",
        "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "\r\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        // The request line
        " GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "\u{16}\u{3}\u{1}",
        "{\"a\":1}\r\n",
        "GET / HTTP/1.1 \r\nHost: a\r\n\r\n",
        "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /  HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / a HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET\r\nHost: a\r\n\r\n",
        "GET /\r\n",
        "G@T / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / http/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/11\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.10\r\nHost: a\r\n\r\n",
        "GET / HTTP/1,1\r\nHost: a\r\n\r\n",
        "GET / HTTP/x.1\r\nHost: a\r\n\r\n",
        // Field lines
        "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
        "GET / HTTP/1.1\r\n Host: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n\tX: b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX(Y): b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n\u{e4}: b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: b\u{0}c\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX\u{0}: b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: b\rc\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: b\u{7f}\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: b\u{1b}\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: b\r\r\n\r\n",
        // Host
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost:\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
        "GET http://a/ HTTP/1.1\r\n\r\n",
        // Framing
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x5\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5 5\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5.0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9223372036854775808\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551617\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999999999999999\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \u{0665}\r\n\r\n",
        "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked;q=1\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked,\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: ,chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \"chunked\"\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chun\u{b}ked\r\n\r\n",
    ])
    func aBadHeadIsRefusedForTheSameReasonInWhateverPortionsItComes(text: String) {
        let whole = outcome(of: text, in: [])
        #expect(isBadRequest(whole), "\(whole)")
        for portions in portions(text.utf8.count) {
            #expect(outcome(of: text, in: portions) == whole, "\(portions)")
        }
    }

    @Test(arguments: [
        ("GET / HTTP/2.0\r\n", Refusal.versionNotSupported),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", .versionNotSupported),
        ("GET / HTTP/0.9\r\n", .versionNotSupported),
        ("BREW / HTTP/1.1\r\nHost: a\r\n\r\n", .notImplemented),
        ("get / HTTP/1.1\r\nHost: a\r\n\r\n", .notImplemented),
        ("CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", .notImplemented),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", .notImplemented),
        ("POST / HTTP/1.1\r\nHost: a\r\nExpect: 200-ok\r\nContent-Length: 1\r\n\r\n", .expectationFailed),
        ("GET / HTTP/1.1\r\nHost: a\r\nExpect:\r\n\r\n", .expectationFailed),
    ])
    func whatIsUnderstoodButNotDoneHasItsOwnStatus(text: String, refusal: Refusal) {
        for portions in portions(text.utf8.count) {
            #expect(outcome(of: text, in: portions) == .refused(refusal), "\(portions)")
        }
    }

    @Test func aTargetIsTakenUpToItsLimitAndNoFurther() {
        let limits = ServerLimits(targetBytes: 100)
        for (count, expected) in [(100, nil), (101, Refusal.targetTooLong), (10_000, .targetTooLong)] {
            let text = "GET /\(String(repeating: "a", count: count - 1)) HTTP/1.1\r\nHost: a\r\n\r\n"
            let whole = expected.map(Outcome.refused) ?? .complete(text.utf8.count)
            #expect(outcome(of: text, in: [], limits: limits) == whole)
            #expect(outcome(of: text, in: Array(0..<text.utf8.count), limits: limits) == whole)
        }
    }

    @Test func fieldsAreTakenUpToTheirLimitsAndNoFurther() {
        let limits = ServerLimits(headerBytes: 1000, headerCount: 10)
        let start = "GET / HTTP/1.1\r\nHost: a\r\n"
        func sized(_ count: Int) -> String {
            "\(start)X: \(String(repeating: "a", count: count - start.utf8.count - 7))\r\n\r\n"
        }
        let tenLines = start + String(repeating: "X: a\r\n", count: 9) + "\r\n"
        let elevenLines = start + String(repeating: "X: a\r\n", count: 10) + "\r\n"
        for (text, fits) in [(sized(1000), true), (sized(1001), false), (tenLines, true), (elevenLines, false)] {
            let whole = fits ? Outcome.complete(text.utf8.count) : .refused(.headerTooLarge)
            #expect(outcome(of: text, in: [], limits: limits) == whole)
            #expect(outcome(of: text, in: Array(0..<text.utf8.count), limits: limits) == whole)
        }
    }

    @Test func aFieldWithoutEndIsRefusedAsSoonAsItIsTooLong() {
        let limits = ServerLimits(headerBytes: 1000)
        let text = "GET / HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "a", count: 2000)
        #expect(outcome(of: text, in: [1000], limits: limits) == .refused(.headerTooLarge))
    }

    @Test func aParserThatIsResetReadsTheNextRequest() throws {
        let first = Array("POST /a HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\n".utf8)
        let second = Array("GET /b HTTP/1.1\r\nHost: b\r\n\r\n".utf8)
        var parser = HeadParser(limits: ServerLimits())
        #expect(try parser.parse(first.span) == first.count)
        let kept = parser.head
        parser.reset()
        #expect(try parser.parse(second.span) == second.count)
        #expect(parser.head.path == "/b")
        #expect(parser.head.authority == "b")
        #expect(parser.head.body == .none)
        #expect(parser.head.isVersion10 == false)
        #expect(kept.path == "/a")
        #expect(kept.fields.map(\.name) == ["Host", "Connection", "Content-Length"])
    }

    @Test func onlyARefusalAfterTheFieldsHasAHead() {
        for (text, isRead) in [
            ("GET / HTTP/1.1\r\nHost: a\r\nX Y: b\r\n\r\n", false),
            ("GET / HTTP/1.1\r\nMyToken: 7\r\n\r\n", true),
        ] {
            let bytes = Array(text.utf8)
            var parser = HeadParser(limits: ServerLimits())
            #expect(throws: Refusal.self) { try parser.parse(bytes.span) }
            #expect(parser.fieldsAreRead == isRead)
        }
    }

    @Test func theTablesHoldExactlyTheGrammar() {
        let letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
        for (set, text) in [
            (ByteSet.token, "!#$%&'*+-.^_`|~"),
            (.hostName, "-._~!$&'()*+,;="),
            (.path, "-._~!$&'()*+,;=:@/"),
            (.query, "-._~!$&'()*+,;=:@/?"),
        ] {
            let members = Set((letters + text).utf8)
            for byte in UInt8.min ... .max { #expect(set.contains(byte) == members.contains(byte)) }
        }
    }
}

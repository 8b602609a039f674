import Testing

@testable import SocketHTTP

private func decode(
    _ text: String,
    in portions: [Int] = [],
    limit: Int = 1000,
    trailerBytes: Int = 100
) throws(BodyError) -> (content: String, used: Int, isFinished: Bool) {
    let bytes = Array(text.utf8)
    var decoder = ChunkDecoder(trailerBytes: trailerBytes)
    var output: [UInt8] = []
    var used = 0
    for end in portions + [bytes.count] where end >= used {
        used += try decoder.decode(bytes.span.extracting(used..<end), into: &output, limit: limit)
    }
    return (String(decoding: output, as: UTF8.self), used, decoder.isFinished)
}

@Suite struct ChunkDecoderTests {
    @Test(arguments: [
        ("0\r\n\r\n", ""),
        ("5\r\nhello\r\n0\r\n\r\n", "hello"),
        ("1\r\na\r\n2\r\nbc\r\n000\r\n\r\n", "abc"),
        ("a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n", "01234567890123456789"),
        ("0000000000000001\r\na\r\n0\r\n\r\n", "a"),
        ("2\r\n\r\n\r\n0\r\n\r\n", "\r\n"),
        ("1;a\r\nx\r\n0;b=c;d=\"e\\\" ;\t\"\r\n\r\n", "x"),
        ("1;a=b\r\nx\r\n0\r\nX: y\r\nZ:\r\n\r\n", "x"),
    ])
    func aGoodBodyIsDecodedInWhateverPortionsItComes(text: String, content: String) throws {
        let next = "GET / HTTP/1.1"
        for portions in portions(text.utf8.count) {
            let result = try decode(text + next, in: portions)
            #expect(result.content == content, "\(portions)")
            #expect(result.used == text.utf8.count, "\(portions)")
            #expect(result.isFinished)
        }
    }

    @Test(arguments: [
        "\r\n", "x\r\n", " 1\r\na\r\n", "1 \r\na\r\n", "1\ta\r\n", "+1\r\na", "-1\r\na", "0x1\r\na\r\n", "1\na\r\n",
        "1\r\rna", "1\r\nab\r\n", "1\r\na\n0\r\n\r\n", "1\r\na\rb", "1\r\na0\r\n", ";a\r\n",
        "00000000000000001\r\na\r\n", "10000000000000000\r\n", "ffffffffffffffff\r\n", "8000000000000000\r\n",
        "1 ;a\r\nx\r\n", "1; a\r\nx\r\n", "1;\r\nx\r\n", "1;;a\r\nx", "1;a=\r\nx", "1;a=b c\r\nx", "1;a =b\r\n",
        "1;a=\"b\r\n\"\r\nx", "1;a=\"b\"c\r\nx", "1;a=\"\u{0}\"\r\n", "1;a\u{0}\r\n", "1;a\nx", "1;=b\r\n",
        "1;a=\"\\\r\"\r\n",
        "0\r\nX y: z\r\n\r\n", "0\r\n X: y\r\n\r\n", "0\r\nX: y\n\r\n", "0\r\nX: \u{0}\r\n\r\n", "0\r\n: y\r\n\r\n",
        "0\r\nX\r\n\r\n", "0\r\nX: y\r\rn", "0\r\n\n", "0\r\n\rx", "0\r\nX: y\r\n z\r\n\r\n",
    ])
    func aBadBodyIsRefusedInWhateverPortionsItComes(text: String) {
        for portions in portions(text.utf8.count) {
            #expect(throws: BodyError.malformed, "\(portions)") { try decode(text, in: portions) }
        }
    }

    @Test func anUnfinishedBodyWaitsForMore() throws {
        let text = "3;a=\"b\"\r\nabc\r\n0\r\nX: y\r\n\r\n"
        for end in 0..<text.utf8.count {
            #expect(try !decode(String(decoding: text.utf8.prefix(end), as: UTF8.self)).isFinished)
        }
    }

    @Test func aBodyIsTakenUpToTheLimitAndNotAByteFurther() throws {
        #expect(try decode("3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", limit: 5).content == "abcde")
        #expect(throws: BodyError.tooLarge) { try decode("3\r\nabc\r\n3\r\n", limit: 5) }
        #expect(throws: BodyError.tooLarge) { try decode("7fffffffffffffff\r\n", limit: 5) }
        #expect(throws: BodyError.tooLarge) { try decode("1\r\na\r\n7fffffffffffffff\r\n", limit: 5) }
    }

    @Test func extensionsAndTrailersAreBounded() throws {
        let longest = String(repeating: "a", count: ChunkDecoder.extensionBytes - 1)
        #expect(try decode("0;\(longest)\r\n\r\n").isFinished)
        #expect(throws: BodyError.malformed) { try decode("0;\(longest)a\r\n\r\n") }
        let many = String(repeating: "1;\(longest.prefix(99))\r\na\r\n", count: 41)
        #expect(throws: BodyError.malformed) { try decode(many) }
        #expect(try decode("0\r\nX:\(String(repeating: "a", count: 94))\r\n\r\n").isFinished)
        #expect(throws: BodyError.tooLarge) { try decode("0\r\nX:\(String(repeating: "a", count: 95))\r\n\r\n") }
    }
}

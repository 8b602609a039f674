import Testing

@testable import SocketHTTP

private func decode(_ text: String, limit: Int = 1000) throws(BodyError) -> (content: String, isFinished: Bool) {
    let bytes = Array(text.utf8)
    var decoder = ChunkDecoder(trailerBytes: 100)
    var output: [UInt8] = []
    _ = try decoder.decode(bytes.span, into: &output, limit: limit)
    return (String(decoding: output, as: UTF8.self), decoder.isFinished)
}

/// Cases of chunked bodies that the table of `WireTests` cannot contain.
@Suite(.timeLimit(.minutes(5))) struct ChunkDecoderTests {
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

import PushClient
import Testing

/// Tests the parser for events of a stream, with pieces of any size and with texts of hostile
/// servers.
struct EventParserTests {
    private static func events(_ text: String) throws -> [ServerEvent] {
        var parser = EventParser()
        return try parser.take(text.utf8)
    }

    private static func event(_ id: Int64, after last: String? = nil) -> String {
        "\(last.map { "id: \($0)\n" } ?? "")data: {\"secureId\":\"\(id)\"}\n\n"
    }

    @Test func theServersStreamIsRead() throws {
        var parser = EventParser()
        let events = try parser.take("retry: 2000\n\n:\n\n\(Self.event(4711, after: "4711"))".utf8)
        #expect(events.map(\.id) == [4711])
        #expect(events.map(\.last) == ["4711"])
        #expect(parser.retry == .seconds(2))
    }

    @Test(
        arguments: [
            ("\u{FEFF}data:{\"secureId\":\"7\"}\n\n", [7]),
            ("data: {\"secureId\":\r\ndata: \"7\"}\r\n\r\n", [7]),
            ("data: {\"secureId\":\"7\"}\r\rdata: {\"secureId\":\"8\"}\n\r\n", [7, 8]),
            ("event: x\nfoo: bar\ndata\n: comment\ndata: {\"secureId\":\"7\"}\n\n", [7]),
            ("data: {\"secureId\":\"7\"}", []), ("data: {\"secureId\":\"7\"}\n", []),
            ("data: hello\n\ndata: {\"secureId\":\"-7\"}\n\ndata: {\"secureId\":7}\n\ndata: \u{0}\n\n", []),
            (" data: {\"secureId\":\"7\"}\n\nDATA: {\"secureId\":\"8\"}\n\n", []),
            ("data: {\"secureId\":\"99999999999999999999\"}\n\n", []), ("<html>\n\n", []), ("\n\n\n\r\r\r", []),
        ] as [(String, [Int64])]
    ) func unusualEventStreamsAreReadOrSkipped(_ text: String, _ ids: [Int64]) throws {
        #expect(try Self.events(text).map(\.id) == ids)
    }

    /// The client sends the event id back in a header field of a request, so an invalid id could
    /// inject a field.
    @Test(arguments: ["7\u{0}", "a", "", "7 8", "-7", "7\u{85}X-Field: 1", "99999999999999999999"])
    func anInvalidEventIDIsIgnored(_ id: String) throws {
        #expect(try Self.events(Self.event(8, after: "7") + Self.event(9, after: id)).map(\.last) == ["7", "7"])
    }

    @Test(arguments: [
        ("0", Duration.seconds(1)), ("999", .seconds(1)), ("1001", .milliseconds(1001)), ("60001", .seconds(60)),
        ("9223372036854775807", .seconds(60)),
    ])
    func theRetryDelayIsLimitedTo1To60Seconds(_ text: String, _ time: Duration) throws {
        var parser = EventParser()
        _ = try parser.take("retry: \(text)\nretry: -1\nretry: 1e3\nretry:\n".utf8)
        #expect(parser.retry == time)
    }

    @Test func linesAndEventsHaveALengthLimit() throws {
        let longest = String(repeating: "a", count: EventParser.maximumLine)
        #expect(try Self.events(":" + longest.dropFirst() + "\n" + Self.event(7)).count == 1)
        #expect(throws: EventParser.TooLong.self) { try Self.events(longest + "a") }
        let data = "data:" + longest.dropFirst(5) + "\n"
        #expect(throws: Never.self) { try Self.events(String(repeating: data, count: 4)) }
        #expect(throws: EventParser.TooLong.self) { try Self.events(String(repeating: data, count: 5)) }
    }

    @Test func piecesOfAnySizeGiveTheSameEvents() throws {
        let letters = Array("data:id:retry: {}\"secureId1 7\r\n\n\n\u{FEFF}\u{0}é".utf8)
        var found = 0
        for _ in 0..<2000 {
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 0..<20) {
                switch Int.random(in: 0..<3) {
                case 0: bytes += (0..<Int.random(in: 0..<8)).compactMap { _ in letters.randomElement() }
                case 1: bytes += ["\n", "\r\n", "\r"].randomElement().map { Array($0.utf8) } ?? []
                default: bytes += Self.event(.random(in: 0 ... .max), after: Bool.random() ? "7" : nil).utf8
                }
            }
            var (whole, pieces) = (EventParser(), EventParser())
            let events = try whole.take(bytes)
            var (others, rest): ([ServerEvent], ArraySlice<UInt8>) = ([], bytes[...])
            while !rest.isEmpty {
                let size = Int.random(in: 1...5)
                others += try pieces.take(rest.prefix(size))
                rest = rest.dropFirst(size)
            }
            try #require(events == others, "\(bytes)")
            #expect(whole.retry == pieces.retry)
            found += events.count
        }
        #expect(found > 1000)
    }
}

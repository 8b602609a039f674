import Testing

@testable import PushSimulators

@Suite struct HTTP2SessionTests {
    private let session: HTTP2Session

    init() throws {
        self.session = try HTTP2Session(streamLimit: 1, provenStreamLimit: 500)
    }

    /// What a client sends first.
    private static let opening =
        Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + Self.frame(type: 4, flags: 0, stream: 0)

    /// `POST https://a/` in the static table of RFC 7541, as stream 1.
    private static func request(endsStream: Bool = true, more: [UInt8] = [], stream: UInt8 = 1) -> [UInt8] {
        let block: [UInt8] = [0x83, 0x87, 0x84, 0x41, 0x01, UInt8(ascii: "a")] + more
        return self.frame(type: 1, flags: endsStream ? 5 : 4, stream: stream, block)
    }

    private static func frame(type: UInt8, flags: UInt8, stream: UInt8, _ payload: [UInt8] = []) -> [UInt8] {
        [
            UInt8(payload.count >> 16), UInt8(payload.count >> 8 & 0xFF), UInt8(payload.count & 0xFF), type, flags, 0,
            0, 0, stream,
        ]
            + payload
    }

    private struct Frame: Equatable {
        let type: UInt8
        let flags: UInt8
        let stream: UInt8
        let payload: [UInt8]

        var isSetting: Bool { self.type == 4 && self.flags == 0 }
    }

    private func receive(_ bytes: [UInt8]) throws -> [HTTP2Session.Arrival] {
        try bytes.withUnsafeBytes { try self.session.receive($0) }
    }

    private func takeFrames() throws -> [Frame] {
        var output: [UInt8] = []
        try self.session.takeOutput(into: &output)
        var rest = output[...]
        var frames: [Frame] = []
        while rest.count >= 9 {
            let head = Array(rest.prefix(9))
            let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
            let payload = Array(rest.dropFirst(9).prefix(length))
            frames.append(Frame(type: head[3], flags: head[4], stream: head[8], payload: payload))
            rest = rest.dropFirst(9 + length)
        }
        return frames
    }

    /// SETTINGS_MAX_CONCURRENT_STREAMS, RFC 9113 section 6.5.2.
    private static func streams(_ limit: UInt16) -> [UInt8] {
        [0, 3, 0, 0, UInt8(limit >> 8), UInt8(limit & 0xFF)]
    }

    @Test func theLimitOfStreamsIsRaisedOnceByAnAnswerThatProvesTheClient() throws {
        #expect(try self.takeFrames().filter(\.isSetting).map(\.payload) == [Self.streams(1)])
        var proof = SimulatedResponse(status: 200)

        let first = try self.receive(Self.opening + Self.request())
        self.session.respond(SimulatedResponse(status: 403), on: first[0].stream)
        #expect(try self.takeFrames().filter(\.isSetting) == [])

        proof.provesClient = true
        for stream in [UInt8(3), 5] {
            let arrivals = try self.receive(Self.request(stream: stream))
            self.session.respond(proof, on: arrivals[0].stream)
        }
        #expect(try self.takeFrames().filter(\.isSetting).map(\.payload) == [Self.streams(500)])
    }

    @Test func aRequestArrivesWhenItsBodyIsWhole() throws {
        #expect(try self.receive(Self.opening + Self.request(endsStream: false)).isEmpty)
        #expect(try self.receive(Self.frame(type: 0, flags: 0, stream: 1, Array("ab".utf8))).isEmpty)
        let arrivals = try self.receive(Self.frame(type: 0, flags: 1, stream: 1, Array("cd".utf8)))
        #expect(arrivals.map(\.request) == [SimulatedRequest(path: "/", body: Array("abcd".utf8))])
    }

    @Test func anUpperCaseHeaderNameResetsTheStream() throws {
        let field: [UInt8] = [0x00, 0x01, UInt8(ascii: "X"), 0x01, UInt8(ascii: "y")]
        #expect(try self.receive(Self.opening + Self.request(more: field)).isEmpty)
        #expect(try self.takeFrames().contains { $0.type == 3 && $0.stream == 1 })
    }

    @Test func aBodyLargerThanTheClientsWindowWaitsForMoreWindow() throws {
        let arrivals = try self.receive(Self.opening + Self.request())
        self.session.respond(SimulatedResponse(status: 200, body: [UInt8](repeating: 7, count: 70_000)), on: 1)
        let sent = try self.takeFrames().filter { $0.type == 0 }.reduce(0) { $0 + $1.payload.count }
        let window: [UInt8] = [0, 0, 0xFF, 0xFF]
        _ = try self.receive(
            Self.frame(type: 8, flags: 0, stream: 0, window) + Self.frame(type: 8, flags: 0, stream: 1, window)
        )
        let rest = try self.takeFrames().filter { $0.type == 0 }
        #expect(arrivals.count == 1)
        #expect(sent == 65_535)
        #expect(rest.reduce(0) { $0 + $1.payload.count } == 70_000 - 65_535)
        #expect(rest.last?.flags == 1)
    }

    @Test func goingAwayNamesTheLastRequestThatIsAnswered() throws {
        _ = try self.receive(Self.opening + Self.request())
        self.session.goAway()
        let frame = try self.takeFrames().first { $0.type == 7 }
        #expect(frame?.payload == [0, 0, 0, 1, 0, 0, 0, 0])
    }

    @Test func whatIsNotHTTP2IsAFailure() {
        #expect(throws: HTTP2Session.Failure.self) { try self.receive(Array("GET / HTTP/1.1\r\n\r\n".utf8)) }
    }
}

import Testing

@testable import PushSimulators

@Suite(.timeLimit(.minutes(5))) struct HTTP2SessionTests {
    private let session: HTTP2Session

    init() throws {
        self.session = try HTTP2Session(streamLimit: 1, provenStreamLimit: 500)
    }

    private func receive(_ bytes: [UInt8]) throws -> [HTTP2Session.Arrival] {
        try bytes.withUnsafeBytes { try self.session.receive($0) }
    }

    private func takeFrames() throws -> [Frame] {
        var output: [UInt8] = []
        try self.session.takeOutput(into: &output)
        return Frame.all(in: output)
    }

    /// Returns the setting SETTINGS_MAX_CONCURRENT_STREAMS (RFC 9113 section 6.5.2).
    private static func streams(_ limit: UInt16) -> [UInt8] {
        [0, 3, 0, 0, UInt8(limit >> 8), UInt8(limit & 0xFF)]
    }

    @Test func aRequestArrivesWhenItsBodyIsWhole() throws {
        #expect(try self.receive(Frame.opening + Frame.request(endsStream: false)).isEmpty)
        #expect(try self.receive(Frame.bytes(type: 0, flags: 0, stream: 1, Array("ab".utf8))).isEmpty)
        let arrivals = try self.receive(Frame.bytes(type: 0, flags: 1, stream: 1, Array("cd".utf8)))
        #expect(arrivals.map(\.request) == [SimulatedRequest(path: "/", body: Array("abcd".utf8))])
    }

    @Test func theLimitOfStreamsIsRaisedOnceByAnAnswerThatProvesTheClient() throws {
        #expect(try self.takeFrames().filter(\.isSetting).map(\.payload) == [Self.streams(1)])
        var proof = SimulatedResponse(status: 200)

        let first = try self.receive(Frame.opening + Frame.request())
        self.session.respond(SimulatedResponse(status: 403), on: first[0].stream)
        #expect(try self.takeFrames().filter(\.isSetting) == [])

        proof.provesClient = true
        for stream in [UInt8(3), 5] {
            let arrivals = try self.receive(Frame.request(stream: stream))
            self.session.respond(proof, on: arrivals[0].stream)
        }
        #expect(try self.takeFrames().filter(\.isSetting).map(\.payload) == [Self.streams(500)])
    }

    @Test func anUpperCaseHeaderNameResetsTheStream() throws {
        let field: [UInt8] = [0x00, 0x01, UInt8(ascii: "X"), 0x01, UInt8(ascii: "y")]
        #expect(try self.receive(Frame.opening + Frame.request(more: field)).isEmpty)
        #expect(try self.takeFrames().contains { $0.type == 3 && $0.stream == 1 })
    }

    @Test func aBodyLargerThanTheClientsWindowWaitsForMoreWindow() throws {
        let arrivals = try self.receive(Frame.opening + Frame.request())
        self.session.respond(SimulatedResponse(status: 200, body: [UInt8](repeating: 7, count: 70_000)), on: 1)
        let sent = try self.takeFrames().filter { $0.type == 0 }.reduce(0) { $0 + $1.payload.count }
        let window: [UInt8] = [0, 0, 0xFF, 0xFF]
        _ = try self.receive(
            Frame.bytes(type: 8, flags: 0, stream: 0, window) + Frame.bytes(type: 8, flags: 0, stream: 1, window)
        )
        let rest = try self.takeFrames().filter { $0.type == 0 }
        #expect(arrivals.count == 1)
        #expect(sent == 65_535)
        #expect(rest.reduce(0) { $0 + $1.payload.count } == 70_000 - 65_535)
        #expect(rest.last?.flags == 1)
    }

    @Test func goingAwayNamesTheLastRequestThatIsAnswered() throws {
        _ = try self.receive(Frame.opening + Frame.request())
        self.session.goAway()
        let frame = try self.takeFrames().first { $0.type == 7 }
        #expect(frame?.payload == [0, 0, 0, 1, 0, 0, 0, 0])
    }

    @Test func anHTTP1RequestFailsTheSession() {
        #expect(throws: HTTP2Session.Failure.self) { try self.receive(Array("GET / HTTP/1.1\r\n\r\n".utf8)) }
    }
}

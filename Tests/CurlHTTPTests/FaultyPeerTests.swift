import CurlHTTP
import PushSimulators
import Testing

/// The outcomes of calls to a faulty peer, over real sockets. Unless a test says otherwise, each
/// call has a deadline of four minutes, so the test notices a call that hangs.
@Suite(.timeLimit(.minutes(15))) struct FaultyPeerTests {
    /// All calls succeed despite a single fault.
    @Test(
        arguments: [false, true],
        [
            "goaway reason Shutdown", "goaway-before", "refuse-stream", "reset", "lose-answer", "cut", "bad-json",
            "slow 1ms",
        ]
    )
    func callersDoNotNoticeSingleFaults(provesConnections: Bool, fault: String) async throws {
        let outcomes = try await FaultyPeer.with([FaultRule("every 20 next 1: \(fault)")]) {
            $0.provesConnections = provesConnections
        } _: { peer in
            await peer.post(50)
        }
        #expect(outcomes == ["200": 50])
    }

    @Test(arguments: ["refuse-stream", "goaway-before", "reset"])
    func unhandledCallIsRetriedOnAnotherConnection(fault: String) async throws {
        let (outcomes, connections, delivered) = try await FaultyPeer.with([FaultRule("every 2 next 1: \(fault)")]) {
            peer in
            let outcomes = [await peer.post(), await peer.post(), await peer.post()]
            return (outcomes, peer.connectionCount, peer.deliveredCount)
        }
        #expect(outcomes == [.status(200), .status(200), .status(200)])
        #expect(connections == 2)
        #expect(delivered == 3)
    }

    /// If the answer is lost on a connection that was used before, libcurl itself repeats the
    /// request. For this reason, the sender gives the provider the same id in each repetition.
    @Test(arguments: ["lose-answer", "cut"])
    func aCallWhoseAnswerWasLostIsHandledTwice(fault: String) async throws {
        let (outcomes, delivered) = try await FaultyPeer.with([FaultRule("every 2 next 1: \(fault)")]) { peer in
            ([await peer.post(), await peer.post(), await peer.post()], peer.deliveredCount)
        }
        #expect(outcomes == [.status(200), .status(200), .status(200)])
        #expect(delivered == 4)
    }

    @Test func connectionTakesNoCallsAfterGoAway() async throws {
        // The first call gets no answer, and so keeps the connection open on both sides.
        let rules = [try FaultRule("next 1: no-answer"), try FaultRule("next 1: goaway")]
        let (outcomes, connections) = try await FaultyPeer.with(rules) { peer in
            async let first = peer.post(timeout: .seconds(3))
            _ = await peer.arrival()
            let outcomes = [await peer.post(), await peer.post(), await peer.post()]
            let received = peer.provider.pushes.received.map(\.request.connection)
            return (outcomes + [await first], received.map { $0 - received[0] })
        }
        #expect(outcomes == [.status(200), .status(200), .status(200), .failed(.timedOut)])
        #expect(connections == [0, 0, 1, 1])
    }

    @Test func aCallThatIsNeverAnsweredEndsAloneAtItsDeadline() async throws {
        let (outcomes, connections, time) = try await FaultyPeer.with([FaultRule("every 7: no-answer")]) { peer in
            let start = ContinuousClock.now
            let outcomes = await peer.post(20, timeout: .seconds(8))
            return (outcomes, peer.connectionCount, ContinuousClock.now - start)
        }
        #expect(outcomes == ["200": 18, "timed out": 2])
        #expect(connections == 1)
        #expect(time >= .seconds(8))
    }

    /// The peer closes its flow-control window, does not read, or does not finish the handshake.
    /// The client abandons the connection at the deadline, and replaces it.
    @Test(arguments: [false, true], ["zero-window", "stop-reading", "stop-handshake"])
    func aStalledConnectionIsReplaced(provesConnections: Bool, fault: String) async throws {
        let (stalled, after) = try await FaultyPeer.with([FaultRule("next 1: \(fault)")]) {
            $0.provesConnections = provesConnections
        } _: { peer in
            let stalled = await peer.post(4, timeout: .seconds(1))
            return (stalled, await peer.post(4))
        }
        // At least the stalled call has timed out. The other calls may have continued on the next
        // connection.
        #expect(stalled["timed out", default: 0] >= 1)
        #expect(Set(stalled.keys).isSubset(of: ["timed out", "200"]))
        #expect(after == ["200": 4])
    }

    @Test func handshakeResetFailsItsCallOnlyAndAtOnce() async throws {
        let outcomes = try await FaultyPeer.with([FaultRule("next 1: reset-handshake")]) { peer in
            [await peer.post(), await peer.post()]
        }
        switch outcomes[0] {
        case .failed(.tls), .failed(.couldNotConnect): break
        default: Issue.record("unexpected: \(outcomes[0])")
        }
        #expect(outcomes[1] == .status(200))
    }

    /// If a peer refuses everything, the client must not open connection after connection.
    @Test(arguments: ["refuse-stream", "goaway-before", "reset"])
    func aPeerThatFailsAlwaysIsGivenUpSoon(fault: String) async throws {
        let (outcomes, connections) = try await FaultyPeer.with([FaultRule("always: \(fault)")]) {
            $0.provesConnections = true
        } _: { peer in
            (await peer.post(50), peer.connectionCount)
        }
        #expect(outcomes["200"] == nil && outcomes.values.reduce(0, +) == 50)
        #expect(connections <= 60)
    }

    @Test func aNewConnectionCarriesOneCallUntilItIsProven() async throws {
        let rules = [try FaultRule("next 1: no-answer")]
        let (first, others, onTheFirst) = try await FaultyPeer.with(rules) {
            $0.provesConnections = true
        } _: { peer in
            async let first = peer.post(timeout: .seconds(1))
            _ = await peer.arrival()
            async let others = peer.post(20)
            let outcomes = (await first, await others)
            let connections = peer.provider.pushes.received.map(\.request.connection)
            return (outcomes.0, outcomes.1, connections.count { $0 == connections[0] })
        }
        #expect(first == .failed(.timedOut))
        #expect(onTheFirst == 1)
        #expect(others == ["200": 20])
    }

    @Test func aProvenConnectionThatIsLostIsReplacedByOneThatCarriesOneCall() async throws {
        // After ten requests on the first connection, the peer refuses further ones there. On the
        // second connection, it never answers the first request.
        let rules = [try FaultRule("every 10 next 1: goaway"), try FaultRule("every 10 next 1: no-answer")]
        let (outcomes, received) = try await FaultyPeer.with(rules) {
            $0.provesConnections = true
        } _: { peer in
            for _ in 1...10 { _ = await peer.post() }
            async let probe = peer.post(timeout: .seconds(1))
            for _ in 1...11 { _ = await peer.arrival() }
            async let others = peer.post(20, timeout: .milliseconds(500))
            return (await others, (await probe, peer.provider.pushes.received.count))
        }
        #expect(outcomes == ["timed out": 20])
        #expect(received.0 == .failed(.timedOut))
        #expect(received.1 == 11)
    }
}

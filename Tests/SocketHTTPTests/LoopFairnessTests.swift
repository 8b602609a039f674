import Glibc
import HTTPTypes
import Reactor
import Synchronization
import Testing

@testable import SocketHTTP

/// A client that always has another request must not keep the other clients of its event loop
/// waiting.
@Suite(.timeLimit(.minutes(5))) struct LoopFairnessTests {
    private final class Observed: Sendable {
        /// The number of answers to the busy client.
        let answers = Atomic(0)
        let othersHaveAsked = Atomic(false)
        /// The number of answers to the busy client when the server answered another client.
        let answersBefore = Atomic(-1)
        let begun = AsyncStream.makeStream(of: Void.self)

        /// Blocks the loop at the first request until all clients have sent their requests. The
        /// later answers then show the server's order.
        @Sendable func answer(_ request: Request) async -> Response {
            guard request.head.path != "/other" else {
                self.answersBefore.store(self.answers.load(ordering: .relaxed), ordering: .relaxed)
                return Response(status: .ok)
            }
            if request.head.method == .post { _ = try? await request.body.collect(upTo: 10_000_000) }
            if self.answers.add(1, ordering: .relaxed).newValue == 1 {
                self.begun.continuation.yield()
                let end = ContinuousClock.now + .seconds(120)
                while !self.othersHaveAsked.load(ordering: .acquiring), .now < end { usleep(100) }
            }
            return Response(status: .ok)
        }

        /// Makes one client send all of `requests` at once, and makes another client send a
        /// request meanwhile.
        func run(_ requests: String, answers: Int) async throws {
            try await withServer(loops: 1, answer: self.answer) { test in
                let (busy, other) = (try test.client(), try test.client())
                // The other client's first request comes before the loop is blocked, because a
                // blocked loop accepts no connection.
                try await other.send("GET /other HTTP/1.1\r\nHost: h\r\n\r\n")
                _ = try await other.response()
                try await busy.send(requests)
                for await _ in self.begun.stream { break }
                try await other.send("GET /other HTTP/1.1\r\nHost: h\r\n\r\n")
                self.othersHaveAsked.store(true, ordering: .releasing)
                _ = try await other.response()
                for _ in 0..<answers { _ = try await busy.response() }
            }
        }
    }

    @Test func aClientThatPipelinesDoesNotHoldUpAnother() async throws {
        let observed = Observed()
        let request = "GET /busy HTTP/1.1\r\nHost: h\r\n\r\n"
        try await observed.run(String(repeating: request, count: 500), answers: 500)
        #expect(observed.answersBefore.load(ordering: .relaxed) <= 40)
    }
}

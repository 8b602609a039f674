import Dispatch
import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// A pool of threads makes the long lists, because they would block an event loop.
@Suite(.timeLimit(.minutes(5))) struct LongListTests {
    /// Why the pool makes the list: the list has many rows, is compressed, is requested by many
    /// ids, or has many bytes.
    enum Reason: Sendable, CaseIterable {
        case rows, gzip, ids, bytes
    }

    private let fixture: ServerFixture

    init() async throws {
        self.fixture = try await ServerFixture()
    }

    private func post(_ count: Int, of length: Int = 1) async throws {
        let payload = String(repeating: "x", count: length)
        for _ in 0..<count { _ = try await self.fixture.post(#"{"Payload":"\#(payload)"}"#, user: "alice") }
    }

    private func list(_ query: String = "", gzip: Bool = false) async throws -> Response {
        let headers = gzip ? [("Accept-Encoding", "gzip")] : []
        return try await self.fixture.send(.get, "/api/notifications\(query)", headers: headers)
    }

    /// Returns the items of all pages. The pages are so short that the event loop makes them
    /// itself, instead of the pool.
    private func items(inPagesOf limit: Int) async throws -> [JSONValue] {
        var (items, query) = ([JSONValue](), "?limit=\(limit)")
        while true {
            let page = try await self.list(query).json
            if case .array(let some)? = page["Notifications"] { items += some }
            guard page["More"] == .bool(true) else { return items }
            query = "?limit=\(limit)&since=\(try #require(page["Cursor"]?.text))"
        }
    }

    /// Occupies the pool's only thread until `body` calls `end`.
    private func whilePoolIsBusy(_ body: (_ end: () -> Void) async throws -> Void) async throws {
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        // The semaphore blocks a thread of the pool on purpose: the test needs a busy pool.
        let gate = DispatchSemaphore(value: 0)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await self.fixture.lists.run(for: -1) { _ in
                    start.finish()
                    gate.wait()
                }
            }
            for await _ in started {}
            // If `body` has called `end` already, a second signal changes nothing.
            defer { gate.signal() }
            try await body { gate.signal() }
        }
    }

    @Test func aShortListDoesNotWaitForThePool() async throws {
        try await self.post(20)
        let cursor = try #require(try await self.list("?limit=5").json["Cursor"]?.text)
        try await self.whilePoolIsBusy { _ in
            for query in ["", "?since=\(cursor)", "?ids=1,2,3"] {
                let response = try await self.list(query)
                #expect(response.status == .ok)
            }
            let compressed = try await self.list(gzip: true)
            #expect(compressed.fields[.contentEncoding] == "gzip")
        }
    }

    @Test(arguments: Reason.allCases)
    func aLongListIsMadeByThePoolWithTheSameContent(reason: Reason) async throws {
        switch reason {
        case .rows, .ids: try await self.post(101)
        case .gzip: try await self.post(51)
        case .bytes: try await self.post(2, of: 40_000)
        }
        let items = try await self.items(inPagesOf: reason == .bytes ? 1 : 50)
        let ids = try items.map { String(try #require($0["Id"]?.integer)) }.joined(separator: ",")
        let query = reason == .ids ? "?ids=\(ids)" : "?limit=500"
        // The pool refuses one of these requests, because more requests wait than its limit
        // allows. If an event loop made the lists, no request would be refused.
        let count = FairQueue<Int>.limitPerUser + 1
        try await withThrowingTaskGroup(of: Response.self) { group in
            try await self.whilePoolIsBusy { end in
                for _ in 0..<count { group.addTask { try await self.list(query, gzip: reason == .gzip) } }
                let refused = try #require(try await group.next())
                try refused.expectProblem(.busy, "lists")
                #expect(refused.fields[.retryAfter] == "1")
                end()
            }
            for try await response in group {
                #expect(response.status == .ok)
                #expect(response.fields[.contentEncoding] == (reason == .gzip ? "gzip" : nil))
                if reason != .gzip { #expect(try response.json["Notifications"] == .array(items)) }
            }
        }
    }

    @Test func aLongUnchangedListGetsNotModified() async throws {
        try await self.post(101)
        let tag = try #require(try await self.list().fields[.eTag])
        let headers = [("If-None-Match", tag)]
        let unchanged = try await self.fixture.send(.get, Paths.notifications, headers: headers)
        #expect(unchanged.status == .notModified)
        let failed = try await self.fixture.send(.get, Paths.notifications, headers: [("If-Match", "\"other\"")])
        #expect(failed.status == .preconditionFailed)
    }
}

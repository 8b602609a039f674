import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// The server's status, as the console shows it.
@Suite(.timeLimit(.minutes(5))) struct StatusTests {
    private func status(of fixture: ServerFixture) async throws -> JSONValue {
        let response = try await fixture.send(.get, Paths.status, user: "ada")
        try #require(response.status == .ok, "\(response.text)")
        return try response.json
    }

    @Test func theStatusShowsLanesPausesAndExpiries() async throws {
        let fixture = try await ServerFixture(troubles: ["the disk is full"])
        let alice = try await fixture.storage.user("alice")
        try await fixture.storage.addDevice(of: alice, handle: "a")
        _ = try await fixture.post(#"{"Payload":1,"To":["username:alice"]}"#)
        fixture.clock.advance(by: 7)
        let status = try await self.status(of: fixture)
        #expect(status["Version"]?.text == "test")
        #expect(status["Troubles"] == .array([.string("the disk is full")]))
        #expect(status["Servers"]?.integer == 1)
        #expect(
            status["Credentials"]
                == .array([
                    .object([
                        .init("Name", .string("senders.apns")), .init("ExpiresAt", .string("2033-05-18T03:33:20Z")),
                        .init("Lifetime", .number(518_400)),
                    ])
                ])
        )
        guard case .array(let lanes) = status["Lanes"], lanes.count == 2 else {
            Issue.record("\(status)")
            return
        }
        #expect(lanes[0]["Name"]?.text == "apns")
        #expect(lanes[0]["Pending"]?.integer == 1)
        #expect(lanes[0]["OverdueSeconds"]?.integer == 7)
        #expect(lanes[0]["OldestSeconds"]?.integer == 7)
        #expect(lanes[0]["Pause"]?["Cause"]?.text == "misconfigured")
        #expect(lanes[0]["Pause"]?["Reason"]?.text == "InvalidProviderToken")
        #expect(lanes[1]["Name"]?.text == "apns/sandbox")
        #expect(lanes[1]["Pause"] == .null)
        #expect(lanes[1]["OldestSeconds"]?.integer == 0)
    }

    @Test func aLaneWhosePlatformWasRemovedHasNoSender() async throws {
        let fixture = try await ServerFixture(
            settings: .forTests(\.platforms, [Platform("fcm"): .init(SampleHandleRule())])
        )
        let alice = try await fixture.storage.user("alice")
        for platform in ["apns", "fcm"] {
            try await fixture.storage.addDevice(of: alice, platform: platform, handle: platform)
        }
        try await fixture.storage.post(1, from: alice, to: "username:alice")
        guard case .array(let lanes) = try await self.status(of: fixture)["Lanes"] else {
            Issue.record("there are no lanes")
            return
        }
        let senders = lanes.map { [$0["Name"], $0["HasSender"]] }
        #expect(senders.contains([.string("apns"), .bool(false)]), "\(senders)")
        #expect(senders.contains([.string("fcm"), .bool(true)]), "\(senders)")
    }

    /// Pushes can wait in a queue that the platform no longer has. For example, the host of the
    /// queue may no longer be in `allowedHosts`.
    @Test func aLaneThatItsPlatformHasNoLongerHasNoSender() async throws {
        let fixture = try await ServerFixture()
        let alice = try await fixture.storage.user("alice")
        for lane in ["apns", "apns/old", "fcm"] {
            try await fixture.storage.addDevice(of: alice, platform: lane, handle: lane)
        }
        try await fixture.storage.post(1, from: alice, to: "username:alice")
        guard case .array(let lanes) = try await self.status(of: fixture)["Lanes"] else {
            Issue.record("there are no lanes")
            return
        }
        let senders = lanes.filter { $0["HasSender"] == .bool(true) }.compactMap { $0["Name"]?.text }
        #expect(lanes.count == 4 && senders == ["apns", "apns/sandbox", "fcm"], "\(lanes)")
        let answer = try await fixture.send(.get, Paths.why("1"), user: "ada")
        #expect(answer.text.contains("the server has no sender for apns/old"), "\(answer.text)")
    }

    @Test func aRetriedPushIsOldButNotOverdue() async throws {
        let fixture = try await ServerFixture()
        let alice = try await fixture.storage.user("alice")
        try await fixture.storage.addDevice(of: alice, handle: "a")
        _ = try await fixture.post(#"{"Payload":1,"To":["username:alice"]}"#)
        let leased = try #require(try await fixture.storage.lease().first)
        fixture.clock.advance(by: 7)
        try await fixture.storage.settle(leased, as: .retried(at: fixture.clock.now + 60, reason: "busy"))
        fixture.clock.advance(by: 5)
        guard case .array(let lanes) = try await self.status(of: fixture)["Lanes"] else {
            Issue.record("there are no lanes")
            return
        }
        #expect(lanes[0]["OverdueSeconds"]?.integer == 0)
        #expect(lanes[0]["OldestSeconds"]?.integer == 12)
        let metrics = try await fixture.send(.get, "/metrics", user: "ada").text
        #expect(metrics.contains(#"sealpost_deliveries_oldest_seconds{lane="apns"} 12"#))
    }

    @Test func theStatusListsTheServersOfTheDatabase() async throws {
        let storage = try StoreFixture(.postgreSQL, options: .silent)
        let here = try await ServerFixture(storage: storage)
        try await storage.addUser("ada", role: .admin, ServerFixture.passwordHash)
        var options = StoreOptions.silent
        options.cluster.release = "9.8"
        let other = try storage.reopened(options: options)
        try storage.extendLeases()
        let both = try await self.nodes(of: here)
        #expect(both.map { $0["State"]?.text } == ["alive", "alive"])
        #expect(both.map { $0["IsThis"] } == [.bool(true), .bool(false)])
        #expect(both.last?["Version"]?.text == "9.8")
        await other.store.close()
        let left = try await self.nodes(of: here)
        #expect(left.map { $0["State"]?.text } == ["alive", "gone"])
        #expect(left.map { $0["Name"] } == both.map { $0["Name"] })
        for server in left {
            let (started, heard) = (try #require(server["StartedAt"]?.text), try #require(server["HeardAt"]?.text))
            #expect(started <= heard)
        }
        #expect(try await self.status(of: here)["Servers"]?.integer == 1)
    }

    @Test func aServerWithItsOwnDatabaseListsNoServers() async throws {
        #expect(try await self.nodes(of: ServerFixture()) == [])
    }

    private func nodes(of fixture: ServerFixture) async throws -> [JSONValue] {
        guard case .array(let nodes) = try await self.status(of: fixture)["Nodes"] else {
            Issue.record("there are no nodes")
            return []
        }
        return nodes
    }

    @Test func aLaneIsRetriedOnRequest() async throws {
        let fixture = try await ServerFixture()
        let body = #"{"Lane":"apns/sandbox"}"#
        let response = try await fixture.send(.post, Paths.retryLane, user: "ada", body: body)
        #expect(response.status == .noContent)
        #expect(fixture.lanes.retried == ["apns/sandbox"])
        let missing = try await fixture.send(.post, Paths.retryLane, user: "ada", body: #"{"Lane":"apns/nowhere"}"#)
        try missing.expectProblem(.notFound)
        #expect(fixture.lanes.retried == ["apns/sandbox"])
    }

    @Test func postsAndFetchesAreCounted() async throws {
        let fixture = try await ServerFixture()
        let history = fixture.history
        history.record([Tally](), at: fixture.clock.now)
        let path = try await fixture.post(#"{"Payload":1,"To":["username:alice"]}"#)
        let tag = try #require(try await fixture.send(.get, path).fields[.eTag])
        try await fixture.send(.get, path, headers: [("If-None-Match", tag)])
        try await fixture.send(.get, path, user: "bob")
        fixture.clock.advance(by: 15)
        var tally = Tally()
        (tally.enqueued, tally.accepted, tally.failed) = (9, 4, 2)
        history.record([tally], at: fixture.clock.now)
        let shown = try await self.status(of: fixture)["History"]
        for (name, count) in [("Posted", 1), ("Fetched", 1), ("Accepted", 4), ("Failed", 2), ("Pending", 3)] {
            guard case .array(let values) = shown?[name] else {
                Issue.record("\(name) is missing")
                continue
            }
            #expect(values.count == 240)
            #expect(values.last?.integer == count, "\(name)")
            #expect(values.dropLast().allSatisfy { $0 == .null })
        }
    }
}

/// The samples that the server keeps of its counters for the last hour.
@Suite(.timeLimit(.minutes(5))) struct StatusHistoryTests {
    private let start = Date(timeIntervalSince1970: 1_500_000_000)

    private func record(_ accepted: Int, after seconds: TimeInterval, in history: StatusHistory) {
        var tally = Tally()
        (tally.enqueued, tally.accepted) = (accepted, accepted)
        history.record([tally], at: self.start + seconds)
    }

    @Test func aStepCountsTheChangesSinceTheLastStep() {
        let history = StatusHistory()
        for (accepted, seconds) in [(100, 0.0), (107, 15), (107, 16), (110, 30)] {
            self.record(accepted, after: seconds, in: history)
        }
        let (steps, end) = history.steps(at: self.start + 31)
        #expect(end == self.start + 30)
        #expect(steps.suffix(3).map { $0?.accepted } == [nil, 7, 3])
    }

    @Test func aMissedStepIsUnknownAndCountedInTheNext() {
        let history = StatusHistory()
        for (accepted, seconds) in [(0, 0.0), (1, 15), (9, 60)] { self.record(accepted, after: seconds, in: history) }
        let steps = history.steps(at: self.start + 60).steps
        #expect(steps.suffix(5).map { $0?.accepted } == [nil, 1, nil, nil, 8])
    }

    @Test func theHistoryCoversAnHour() {
        let history = StatusHistory()
        for step in 0...500 { self.record(step, after: TimeInterval(step * 15), in: history) }
        let steps = history.steps(at: self.start + 7500).steps
        #expect(steps.count == 240)
        #expect(steps.allSatisfy { $0?.accepted == 1 })
        #expect(history.steps(at: self.start + 20_000).steps.allSatisfy { $0 == nil })
    }

    /// An operator may have set the clock back.
    @Test func aClockSetBackDoesNotTrap() {
        let history = StatusHistory()
        self.record(5, after: 3000, in: history)
        self.record(6, after: 0, in: history)
        self.record(8, after: 15, in: history)
        #expect(history.steps(at: self.start + 15).steps.last??.accepted == 2)
    }
}

import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Synchronization
import Testing

@testable import PushServer

@Suite(.timeLimit(.minutes(5))) struct DeliveriesTests {
    private let fixture: ServerFixture

    init() async throws {
        self.fixture = try await ServerFixture()
        for number in 1...5 {
            let user = try await self.fixture.storage.user(number == 5 ? "bob" : "alice")
            try await self.fixture.storage.addDevice(of: user, handle: "handle-\(number)", tags: ["all"])
        }
    }

    private func post() async throws -> String {
        try await self.fixture.post(#"{"Payload":1,"To":["all"]}"#)
    }

    private func deliveries(_ path: String, _ query: String = "", user: String = "paul") async throws -> Response {
        try await self.fixture.send(.get, "\(path)/deliveries\(query)", user: user)
    }

    private func count(_ state: String, _ response: Response) throws -> Int? {
        try response.json["Counts"]?[state]?.integer
    }

    private func list(_ response: Response) throws -> [JSONValue] {
        guard case .array(let entries) = try response.json["Deliveries"] else { return [] }
        return entries
    }

    @Test func theSenderSeesTheStateOfEachPush() async throws {
        let path = try await self.post()
        let leased = try await self.fixture.storage.lease(limit: 4).sorted { $0.device < $1.device }
        let ends: [Settlement] = [
            .accepted(providerID: nil), .failed(reason: "BadDeviceToken"), .expired,
            .retried(at: self.fixture.clock.now + 60, reason: "Shutdown"),
        ]
        for (delivery, end) in zip(leased, ends) { try await self.fixture.storage.settle(delivery, as: end) }
        let before = try await self.deliveries(path)
        #expect(try self.count("accepted", before) == 1)
        #expect(try self.count("queued", before) == 2)
        #expect(try await self.fixture.send(.get, path, user: "alice").status == .ok)
        // The server stores the receipt of a fetch after it has answered the fetch.
        // `writeReceipts` waits until all receipts are stored.
        try await self.fixture.storage.store.writeReceipts()
        let after = try await self.deliveries(path)
        for (state, count) in [
            ("queued", 2), ("sending", 0), ("accepted", 0), ("fetched", 1), ("read", 0), ("expired", 1), ("failed", 1),
            ("cancelled", 0),
        ] {
            #expect(try self.count(state, after) == count, "\(state)")
        }
        let failed = try #require(try self.list(after).first { $0["State"]?.text == "failed" })
        #expect(failed["Reason"]?.text == "BadDeviceToken")
        #expect(failed["User"]?.text == "alice")
        #expect(failed["Platform"]?.text == "apns")
        #expect(failed["Attempts"]?.integer == 1)
        #expect(failed["UpdatedAt"]?.text == self.fixture.clock.now.rfc3339)
        #expect(try self.list(after).first { $0["State"]?.text == "queued" }?["UpdatedAt"] == .null)
    }

    @Test(arguments: ["", "?counts=all", "?counts=part"])
    func aShortCountIncludesAllPushes(query: String) async throws {
        let report = try await self.deliveries(self.post(), query)
        #expect(try report.json["Counted"] == .string("all"))
        #expect(try self.count("queued", report) == 5)
    }

    @Test func anUnknownCountsParameterIsRefused() async throws {
        try await self.deliveries(self.post(), "?counts=some").expectProblem(
            .invalidParameter,
            "counts must be all or part"
        )
    }

    @Test func thePagesTogetherFormTheWholeList() async throws {
        let path = try await self.post()
        var devices: [String] = []
        var cursor = "0"
        for (size, isMore) in [(2, true), (2, true), (1, false)] {
            let page = try await self.deliveries(path, "?limit=2&cursor=\(cursor)")
            #expect(try self.list(page).count == size)
            #expect(try page.json["More"] == .bool(isMore))
            #expect(try self.count("queued", page) == 5)
            devices += try self.list(page).compactMap { $0["Device"]?.text }
            cursor = try #require(try page.json["Cursor"]?.text)
        }
        #expect(Set(devices).count == 5)
        #expect(try await self.deliveries(path, "?limit=5").json["More"] == .bool(false))
    }

    @Test(arguments: [
        ("?limit=0", "limit"), ("?limit=501", "limit"), ("?limit=x", "limit"), ("?cursor=-1", "cursor"),
        ("?cursor=9223372036854775808", "cursor"),
    ])
    func anInvalidLimitOrCursorIsRefused(query: String, word: String) async throws {
        try await self.deliveries(self.post(), query).expectProblem(.invalidParameter, word)
    }

    @Test func onlyTheSenderAndAdministratorsSeeTheDeliveries() async throws {
        let path = try await self.post()
        #expect(try await self.deliveries(path, user: "ada").status == .ok)
        try await self.deliveries(path, user: "alice").expectProblem(.forbidden)
        let own = try await self.fixture.post(#"{"Payload":1,"To":["all"]}"#, user: "ada")
        try await self.deliveries(own).expectProblem(.notFound)
        try await self.deliveries(Paths.notification(1)).expectProblem(.notFound)
        #expect(try await self.fixture.send(.delete, path, user: "paul").status == .noContent)
        try await self.deliveries(path).expectProblem(.notFound)
    }

    // MARK: Testing a device

    /// Sends a test push to alice's first device, and settles it with the outcome that `end`
    /// returns.
    private func test(
        by user: String = "alice",
        _ end: @escaping @Sendable (Date) -> Settlement
    ) async throws -> JSONValue {
        let device = try #require(
            try await self.fixture.storage.reader.devices(ofUser: self.fixture.storage.user("alice").id).first
        )
        let path = Paths.deviceTest(device.id.description)
        return try await withThrowingTaskGroup(of: JSONValue?.self) { group in
            group.addTask { try await self.fixture.send(.post, path, user: user).json }
            group.addTask {
                while true {
                    let leased = try await self.fixture.storage.lease()
                    guard let delivery = leased.first else { continue }
                    #expect(leased.map(\.device) == [device.number])
                    try await self.fixture.storage.settle(delivery, as: end(self.fixture.clock.now))
                    self.fixture.links.settlements.settled([delivery.push.notification])
                    return nil
                }
            }
            var answer: JSONValue?
            for try await value in group { answer = value ?? answer }
            #expect(answer?["Device"]?.text == device.id.description)
            return try #require(answer)
        }
    }

    @Test func aTestReportsThatTheProviderAccepted() async throws {
        let answer = try await self.test { _ in .accepted(providerID: nil) }
        #expect(answer["State"]?.text == "accepted")
        #expect(answer["Reason"] == .null)
        #expect(self.fixture.wakeUps.count == 1)
    }

    /// The store wakes the waiting request when the outcome of the push is stored. The request
    /// does not poll the store.
    @Test func aTestIsAnsweredAsSoonAsItsPushIsSettled() async throws {
        let clock = ContinuousClock()
        // How long requests without a push take on this machine at present.
        let usual = try await clock.measure {
            for _ in 0..<3 { try await self.fixture.send(.get, Paths.devices) }
        }
        let time = try await clock.measure {
            for _ in 0..<3 { _ = try await self.test { _ in .accepted(providerID: nil) } }
        }
        #expect(time < DeviceTestHandler.testPause + usual * 20)
    }

    @Test func aTestReportsWhyTheProviderRefused() async throws {
        let answer = try await self.test { _ in .failed(reason: "BadDeviceToken") }
        #expect(answer["State"]?.text == "failed")
        #expect(answer["Reason"]?.text == "BadDeviceToken")
    }

    @Test func aTestReportsWhyItsPushIsRetriedLater() async throws {
        let answer = try await self.test { .retried(at: $0 + 60, reason: "no event stream is open") }
        #expect(answer["State"]?.text == "queued")
        #expect(answer["Reason"]?.text == "no event stream is open")
    }

    /// No sender runs here, so the request for a test push waits for the result until its
    /// deadline.
    @Test(arguments: [
        (
            "apns", "ada",
            "the lane apns is paused since 2001-09-09T01:46:40Z (the provider refuses the credentials or the configuration: InvalidProviderToken), and its next attempt is at "
        ),
        ("apns", "alice", "the provider accepts no pushes now"), ("gone", "ada", "the server has no sender for gone"),
        ("gone", "alice", "the server has no sender for gone"),
    ])
    func aTestIsAnsweredAtOnceIfTheLaneSendsNothing(platform: String, user: String, reason: String) async throws {
        let end = self.fixture.clock.now + 60
        self.fixture.lanes.until.withLock { $0 = end }
        let alice = try await self.fixture.storage.user("alice")
        let device = try await self.fixture.storage.addDevice(of: alice, platform: platform, handle: "new")
        let answer = try await self.fixture.send(.post, Paths.deviceTest(device.description), user: user).json
        #expect(answer["State"]?.text == "queued")
        #expect(answer["Reason"]?.text == reason + (reason.hasSuffix(" at ") ? end.rfc3339 : ""))
    }

    @Test func anAdministratorsTestOfADeviceIsAuditedWithItsUser() async throws {
        let answer = try await self.test(by: "ada") { _ in .failed(reason: "BadDeviceToken") }
        #expect(answer["State"]?.text == "failed" && answer["Reason"]?.text == "BadDeviceToken")
        let entry = try #require(try await self.fixture.storage.reader.auditEntries(before: nil, limit: 1).first)
        #expect([entry.action, entry.detail, entry.actor] == ["device.test", "alice", "ada"])
        #expect(answer["Device"]?.text == entry.subject)
        _ = try await self.test { _ in .accepted(providerID: nil) }
        #expect(try await self.fixture.storage.reader.auditEntries(before: nil, limit: 1).first?.detail == "")
    }

    @Test func onlyOnesOwnDeviceCanBeTested() async throws {
        let devices = try await self.fixture.storage.reader.devices(ofUser: self.fixture.storage.user("bob").id)
        let path = Paths.deviceTest(try #require(devices.first).id.description)
        let headers = [("X-Request-Id", "same")]
        let foreign = try await self.fixture.send(.post, path, headers: headers)
        let missing = try await self.fixture.send(.post, Paths.deviceTest("none"), headers: headers)
        try foreign.expectProblem(.notFound)
        #expect(foreign.body == missing.body)
        try await self.fixture.send(.post, path, user: "paul").expectProblem(.notFound)
        #expect(try await self.fixture.storage.lease() == [])
    }
}

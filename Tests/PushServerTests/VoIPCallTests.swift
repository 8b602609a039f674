import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// A platform for VoIP calls gets no other notifications, because its app must show each push as a
/// call.
@Suite(.timeLimit(.minutes(5))) struct VoIPCallTests {
    private let fixture: ServerFixture

    init() async throws {
        var settings = ServerSettings.forTests
        settings.platforms[Platform("voip")] = .init(SampleHandleRule(), isForCalls: true)
        self.fixture = try await ServerFixture(settings: settings)
        let alice = try await self.fixture.storage.user("alice")
        for platform in ["apns", "voip"] {
            try await self.fixture.storage.addDevice(of: alice, platform: platform, handle: "aa", tags: ["news"])
        }
    }

    private func post(_ body: String, query: String = "", user: String = "alice") async throws -> Response {
        try await self.fixture.send(.post, Paths.notifications + query, user: user, body: body)
    }

    /// Leases all queued pushes, and returns the platform of each.
    private func pushed() async throws -> [String] {
        var platforms: [String] = []
        for platform in ["apns", "voip"] {
            platforms += try await self.fixture.storage.lease(platform).map { _ in platform }
        }
        return platforms
    }

    @Test(arguments: [
        ("", "", "alice", ["apns"]), (#""text""#, "", "alice", ["apns"]), (#"{"Payload":1}"#, "", "alice", ["apns"]),
        (#"{"Payload":1,"To":["news"]}"#, "", "paul", ["apns"]), (#""text""#, "?pns=voip", "alice", ["voip"]),
        (#"{"Payload":1,"Platforms":["voip"]}"#, "", "alice", ["voip"]),
        (#"{"Payload":1,"To":["news"],"Platforms":["voip","apns"]}"#, "", "paul", ["apns", "voip"]),
    ])
    func onlyANotificationThatNamesThePlatformRings(
        body: String,
        query: String,
        user: String,
        expected: [String]
    ) async throws {
        let response = try await self.post(body, query: query, user: user)
        #expect([.ok, .created].contains(response.status), "\(response.text)")
        #expect(try await self.pushed() == expected)
    }

    @Test(arguments: [
        (#"{"Payload":1,"Platforms":["voip"]}"#, "", 120.0), (#"{"Payload":1,"Platforms":["voip","fcm"]}"#, "", 120),
        (#"{"Payload":1,"Platforms":["voip"],"ExpiresIn":30}"#, "", 30), (#""text""#, "?pns=voip", 120),
        (#"{"Payload":1}"#, "", 2_592_000),
    ])
    func aCallExpiresWithinTwoMinutes(body: String, query: String, expected: TimeInterval) async throws {
        let json = try await self.post(body, query: query).json
        let dates = ["CreatedAt", "ExpiresAt"].compactMap { json[$0]?.text }
            .compactMap { try? Date($0, strategy: .iso8601) }
        try #require(dates.count == 2)
        #expect(abs(dates[1].timeIntervalSince(dates[0]) - expected) <= 1)
    }

    @Test func aLongCallIsRefused() async throws {
        try await self.post(#"{"Payload":1,"Platforms":["voip"],"ExpiresIn":121}"#)
            .expectProblem(.invalidMember, "ExpiresIn must be 1 to 120 seconds")
    }

    /// If a device could change to a platform for calls, notifications already queued for it would
    /// ring as calls.
    @Test(arguments: [("apns", "voip", false), ("voip", "apns", false), ("voip", "voip", true), ("apns", "fcm", true)])
    func aDeviceKeepsItsPurpose(first: String, second: String, isAccepted: Bool) async throws {
        try await self.fixture.issue("one")
        let register = { (platform: String) async throws -> Response in
            let body = #"{"Platform":"\#(platform)","Handle":"bb"}"#
            return try await self.fixture.send(.put, "/api/register/one", body: body)
        }
        #expect(try await register(first).status == .ok)
        let response = try await register(second)
        if isAccepted {
            #expect(response.status == .ok)
        } else {
            try response.expectProblem(.invalidMember, "register each under an id of its own")
        }
    }
}

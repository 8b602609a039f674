import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import SocketHTTP
import Testing

@testable import PushServer

/// The effects of a role's storage limits on users who reach these limits.
@Suite(.timeLimit(.minutes(5))) struct StorageBoundsTests {
    private static func fixture() async throws -> ServerFixture {
        let few = try #require(StorageBounds(devices: 1, notifications: 1, bytes: 1000))
        let more = try #require(StorageBounds(devices: 2, notifications: 2, bytes: 100))
        return try await ServerFixture(settings: .forTests(\.storage, [.device: few, .publisher: more]))
    }

    private func post(_ fixture: ServerFixture, as user: String, _ payload: String = "hello") async throws -> Response {
        try await fixture.send(.post, Paths.notifications, user: user, body: #"{"Payload":"\#(payload)"}"#)
    }

    @Test func aNotificationAboveTheLimitIsAConflict() async throws {
        let fixture = try await Self.fixture()
        #expect(try await self.post(fixture, as: "alice").status == .created)
        try await self.post(fixture, as: "alice").expectProblem(
            .tooMuchStored,
            "a user may have at most 1 notifications stored; recall some, or send with a shorter ExpiresIn"
        )
        // Each user has the limits of its role. A user whose role has no configured limits may
        // store any number of notifications.
        #expect(try await self.post(fixture, as: "bob").status == .created)
        #expect(try await self.post(fixture, as: "paul").status == .created)
        try await self.post(fixture, as: "paul", String(repeating: "x", count: 100))
            .expectProblem(
                .tooMuchStored,
                "a user may have at most 100 bytes of payloads stored; recall notifications to free space"
            )
        for _ in 0..<3 { #expect(try await self.post(fixture, as: "ada").status == .created) }
    }

    @Test func aDeviceAboveTheLimitIsAConflict() async throws {
        let fixture = try await Self.fixture()
        let put = { (id: String, handle: String) in
            try await fixture.issue(id)
            return try await fixture.send(
                .put,
                Paths.registration(id),
                body: #"{"Platform":"apns","Handle":"\#(handle)"}"#
            )
        }
        #expect(try await put("one", "aa").status == .ok)
        try await put("two", "bb").expectProblem(
            .tooManyDevices,
            "a user may have at most 1 devices; unregister one first"
        )
        #expect(try await put("one", "bb").status == .ok)
    }
}

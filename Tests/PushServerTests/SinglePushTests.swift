import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// The sender or an administrator cancels or retries one of a notification's pushes.
@Suite(.eachReader, .timeLimit(.minutes(5))) struct SinglePushTests {
    private let fixture: ServerFixture
    private let devices: [RegistrationID]
    /// The path that lists the pushes of a notification from paul to both devices.
    private let path: String

    init() async throws {
        let fixture = try await ServerFixture()
        let alice = try await fixture.storage.user("alice")
        self.devices = [
            try await fixture.storage.addDevice(of: alice, handle: "handle-1"),
            try await fixture.storage.addDevice(of: alice, handle: "handle-2"),
        ]
        self.path = "\(try await fixture.post(#"{"Payload":1,"To":["username:alice"]}"#))/deliveries"
        self.fixture = fixture
    }

    private func ask(
        _ method: HTTPRequest.Method,
        _ device: RegistrationID?,
        as user: String = "paul"
    ) async throws -> Response {
        try await self.fixture.send(method, "\(self.path)/\(device?.description ?? "none")", user: user)
    }

    @Test(arguments: ["paul", "ada"])
    func aSinglePushIsCancelled(user: String) async throws {
        #expect(try await self.ask(.delete, self.devices[0], as: user).status == .noContent)
        let report = try await self.fixture.send(.get, self.path, user: user).json
        #expect(report["Counts"]?["cancelled"]?.integer == 1)
        #expect(report["Counts"]?["queued"]?.integer == 1)
        #expect(try await self.ask(.delete, self.devices[0], as: user).status == .noContent, "again")
        try await self.ask(.post, self.devices[0], as: user).expectProblem(.pushNotWaiting, "has ended")
        let audit = try await self.fixture.send(.get, Paths.audit, user: "ada").text
        #expect(audit.matches(of: #/"Action":"notification.cancel"/#).count == 1)
        #expect(audit.contains("device \(self.devices[0])"))
        // Cancelling pushes does not recall the notification.
        let item = String(self.path.dropLast("/deliveries".count))
        #expect(try await self.fixture.send(.get, item, user: "alice").status == .ok)
    }

    @Test func aWaitingPushIsRetriedAtOnce() async throws {
        let delivery = try #require(try await self.fixture.storage.lease(limit: 1).first)
        let later = self.fixture.storage.now + 600
        try await self.fixture.storage.settle(delivery, as: .retried(at: later, reason: "Shutdown"))
        for _ in 1...2 {
            for device in self.devices { #expect(try await self.ask(.post, device).status == .noContent) }
        }
        #expect(try await self.fixture.storage.lease(limit: 3).count == 2)
        // The audit has one entry, because the retry of a push that is due anyway changes nothing.
        let audit = try await self.fixture.send(.get, Paths.audit, user: "ada").text
        #expect(audit.matches(of: #/"Action":"notification.retry"/#).count == 1)
    }

    @Test func foreignAndMissingPushesAreRefused() async throws {
        for method in [HTTPRequest.Method.delete, .post] {
            try await self.ask(method, nil).expectProblem(.notFound)
            let elsewhere = "\(Paths.notifications)/999999/deliveries/\(self.devices[0])"
            try await self.fixture.send(method, elsewhere, user: "paul").expectProblem(.notFound)
            try await self.ask(method, self.devices[0], as: "alice").expectProblem(.forbidden)
        }
    }
}

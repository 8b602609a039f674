import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// The answers to a registration do not reveal whether another account has the same handle or id.
@Suite(.timeLimit(.minutes(5))) struct HandleOracleTests {
    /// The owner of a handle or an id at the time when bob registers with it.
    enum Owner: String, CaseIterable {
        case nobody, another, caller
    }

    private static let settings: ServerSettings = {
        var settings = ServerSettings.forTests
        settings.platforms[Platform("hook")] = .init(SampleHandleRule(isGuessable: true))
        settings.platforms[Platform("stream")] = .init(SampleHandleRule(.registrationID))
        return settings
    }()

    private let fixture: ServerFixture

    init() async throws {
        self.fixture = try await ServerFixture(settings: Self.settings)
    }

    private func put(_ id: String, _ platform: String, _ handle: String, user: String) async throws -> Response {
        try await self.fixture.send(
            .put,
            Paths.registration(id),
            user: user,
            headers: [("X-Request-Id", "same"), ("MyToken", "7")],
            body: #"{"Platform":"\#(platform)","Handle":"\#(handle)"}"#
        )
    }

    private func confirm(_ id: String, _ code: String, user: String) async throws -> Response {
        try await self.fixture.send(.post, Paths.confirmation(id), user: user, body: #""\#(code)""#)
    }

    /// Returns the confirmation codes that are now queued for the hook.
    private func codes() async throws -> [String] {
        try await self.fixture.storage.lease("hook").compactMap { $0.push.confirmation?.exposed }
    }

    /// Registers a handle for a user, and confirms the registration if the platform requires
    /// confirmation.
    private func hold(_ platform: String, _ handle: String, user: String) async throws -> String {
        let id = try await self.fixture.requestRegistration(user: user)
        _ = try await self.codes()
        #expect(try await self.put(id, platform, handle, user: user).status == .ok)
        if platform == "hook" {
            let code = try #require(try await self.codes().first)
            #expect(try await self.confirm(id, code, user: user).status == .ok)
        }
        return id
    }

    @Test(arguments: ["apns", "fcm", "wns", "hook", "stream"])
    func theAnswerRevealsNeitherTheHandlesNorTheIDsOwner(platform: String) async throws {
        let prefix = platform == "wns" ? "https://" : ""
        var answers: [Owner: [Response]] = [:]
        for handleOwner in Owner.allCases {
            let handle = "\(prefix)\(handleOwner)"
            switch handleOwner {
            case .nobody: break
            case .another: _ = try await self.hold(platform, handle, user: "alice")
            case .caller: _ = try await self.hold(platform, handle, user: "bob")
            }
            for idOwner in Owner.allCases {
                let id =
                    switch idOwner {
                    case .nobody: "made-up"
                    case .another: try await self.fixture.requestRegistration(user: "alice")
                    case .caller: try await self.fixture.requestRegistration(user: "bob")
                    }
                answers[idOwner, default: []].append(try await self.put(id, platform, handle, user: "bob"))
            }
        }
        for (idOwner, status) in [Owner.caller: 200, .another: 410, .nobody: 410] {
            let own = try #require(answers[idOwner])
            #expect(own.map(\.status.code) == [status, status, status], "\(idOwner)")
        }
        // The answers for another account's ids and for unknown ids have the same bytes.
        for group in [answers[.caller] ?? [], (answers[.another] ?? []) + (answers[.nobody] ?? [])] {
            let first = try #require(group.first)
            for answer in group {
                #expect(answer.body == first.body)
                #expect(answer.fields == first.fields)
            }
        }
    }

    @Test func aForeignRetiredIDIsAnsweredLikeAnUnknownID() async throws {
        let id = try await self.hold("apns", "aa", user: "alice")
        _ = try await self.hold("apns", "aa", user: "paul")
        let (retired, none) = (
            try await self.put(id, "apns", "bb", user: "bob"), try await self.put("made-up", "apns", "bb", user: "bob")
        )
        #expect(retired.status == .gone)
        #expect(retired.body == none.body)
    }

    /// Bob's list of devices, a test push and a notification to himself do not reveal whether
    /// another account has the handle.
    @Test(arguments: ["free", "taken"])
    func anUnconfirmedClaimIsNotADevice(handle: String) async throws {
        let old = try await self.hold("hook", "taken", user: "alice")
        let id = try await self.fixture.requestRegistration(user: "bob")
        #expect(try await self.put(id, "hook", handle, user: "bob").status == .ok)
        #expect(try await self.codes().count == 1)
        #expect(try await self.fixture.send(.get, Paths.register, user: "bob").text == "[]")
        try await self.fixture.send(.post, Paths.deviceTest(id), user: "bob").expectProblem(.notFound)
        _ = try await self.fixture.post(#"{"Payload":1,"To":["username:bob"]}"#)
        #expect(try await self.fixture.storage.lease("hook").isEmpty)
        #expect(try await self.fixture.send(.get, Paths.register).text.contains("\"\(old)\""))
    }

    // MARK: Confirming

    @Test func theOldOwnersListShowsTheMoveForThirtyDays() async throws {
        let made = self.fixture.clock.now.rfc3339
        let old = try await self.hold("hook", "device-1", user: "alice")
        let id = try await self.fixture.requestRegistration(user: "bob")
        #expect(try await self.put(id, "hook", "device-1", user: "bob").status == .ok)
        let code = try #require(try await self.codes().first)
        self.fixture.clock.advance(by: 60)
        let response = try await self.confirm(id, code, user: "bob")
        #expect(response.status.code == 200)
        #expect(response.body.isEmpty)
        let moved = self.fixture.clock.now.rfc3339
        let list = try await self.fixture.send(.get, Paths.register)
        #expect(
            list.text
                == #"[{"Id":"\#(old)","App":"default","Platform":"hook","Environment":null,"Handle":"…","Tags":[],"#
                + #""Shared":false,"CreatedAt":"\#(made)","LastPush":null,"Key":null,"RetiredAt":"\#(moved)","#
                + #""Reason":"the handle was registered by another user"}]"#
        )
        #expect(try await self.fixture.send(.get, Paths.register, user: "bob").text.contains("\"\(id)\""))
        self.fixture.clock.advance(by: 30 * 86400)
        #expect(try await self.fixture.send(.get, Paths.register).text == "[]")
    }

    @Test func aWrongCodeIsRefusedAndTheRightOneMayBeRepeated() async throws {
        let id = try await self.fixture.requestRegistration()
        #expect(try await self.put(id, "hook", "device-1", user: "alice").status == .ok)
        let code = try #require(try await self.codes().first)
        for wrong in ["", "x", String(code.dropLast()), code.uppercased() + "0"] {
            try await self.confirm(id, wrong, user: "alice").expectProblem(.confirmationRefused)
        }
        for _ in 0..<2 { #expect(try await self.confirm(id, code, user: "alice").status == .ok) }
        try await self.confirm(id, "x", user: "alice").expectProblem(.confirmationRefused)
    }

    @Test(arguments: ["", "7", #"{"Code":"x"}"#, "abc"])
    func aConfirmationThatIsNotAStringIsRefused(body: String) async throws {
        let id = try await self.fixture.requestRegistration()
        let response = try await self.fixture.send(.post, Paths.confirmation(id), body: body)
        try response.expectProblem(.invalidJSON)
    }

    @Test func tooManyClaimsAreRefusedWithRetryAfter() async throws {
        let id = try await self.fixture.requestRegistration()
        for number in 0..<20 {
            #expect(try await self.put(id, "hook", "device-\(number)", user: "alice").status == .ok)
        }
        self.fixture.clock.advance(by: 100)
        let response = try await self.put(id, "hook", "one-more", user: "alice")
        try response.expectProblem(.tooManyConfirmations)
        #expect(response.fields[.retryAfter] == "3500")
        #expect(self.fixture.wakeUps.count == 20)
    }
}

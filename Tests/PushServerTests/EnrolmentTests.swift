import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// Users without a password. Their devices sign in for the first time with an enrolment code.
@Suite(.eachReader, .timeLimit(.minutes(5))) struct EnrolmentTests {
    private let fixture: ServerFixture

    init() async throws {
        self.fixture = try await ServerFixture()
        let body = #"{"Name":"dora","WithoutPassword":true}"#
        #expect(try await self.fixture.send(.post, Paths.users, user: "ada", body: body).status == .created)
    }

    private func makeCode(
        of user: String = "dora",
        by caller: String = "ada",
        body: String = ""
    ) async throws -> Response {
        try await self.fixture.send(.post, Paths.userEnrolment(user), user: caller, body: body)
    }

    private func enrol(_ code: String, client: PeerAddress = .unknown) async throws -> Response {
        try await self.fixture.send(.post, Paths.enrolment, user: nil, body: #"{"Code":"\#(code)"}"#, client: client)
    }

    @Test(arguments: ["ada", "paul"])
    func aDeviceGetsATokenWithACode(caller: String) async throws {
        let made = try await self.makeCode(by: caller)
        #expect(made.status == .created, "\(made.text)")
        let code = try #require(try made.json["Code"]?.text)
        let session = try await self.enrol(code.lowercased())
        #expect(session.status == .created)
        #expect(try session.json["Name"] == .string("dora"))
        #expect(try session.json["Scopes"] == .array(["fetch", "send", "register"].map { .string($0) }))
        let token = try #require(try session.json["Token"]?.text)
        #expect(try await self.fixture.send(.post, Paths.notifications, bearing: token).status == .ok)
        try await self.enrol(code).expectProblem(.enrolmentRefused)
        let audit = try await self.fixture.send(.get, Paths.audit, user: "ada").text
        #expect(audit.contains(#""Action":"user.enrol","Subject":"dora""#))
        #expect(audit.contains("by a code, scopes fetch send register"))
        #expect(!audit.contains(code) && !self.fixture.log.lines.contains { $0.contains(code) })
        let tokens = try await self.fixture.send(.get, Paths.tokens, user: "ada")
        #expect(try tokens.json["Tokens"].map { if case .array(let all) = $0 { all.count } else { -1 } } == 1)
    }

    @Test func aCodeMayLimitScopesAndLifetime() async throws {
        let made = try await self.makeCode(body: #"{"Scopes":["fetch"],"ExpiresIn":60}"#)
        let code = try #require(try made.json["Code"]?.text)
        #expect(try await self.enrol(code).json["Scopes"] == .array([.string("fetch")]))
        let other = try #require(try await self.makeCode(body: #"{"ExpiresIn":60}"#).json["Code"]?.text)
        self.fixture.clock.advance(by: 60)
        try await self.enrol(other).expectProblem(.enrolmentRefused)
        for body in [#"{"ExpiresIn":59}"#, #"{"ExpiresIn":86401}"#, #"{"Scopes":["manage"]}"#, #"{"Scopes":[]}"#] {
            try await self.makeCode(body: body).expectProblem(.invalidMember)
        }
    }

    @Test func aPublisherEnrolsOnlyDevicesOfItsAppsWithoutAPassword() async throws {
        for user in ["alice", "paul", "ada"] { try await self.makeCode(of: user, by: "paul").expectProblem(.forbidden) }
        #expect(try await self.makeCode(of: "alice").status == .created)
        let dora = try #require(Username("dora"))
        let (store, now) = (self.fixture.storage.store, self.fixture.clock.now)
        for change in [
            (Role.publisher, Set([AppName.usual])), (.device, Set([.usual, try #require(AppName("bank"))])),
        ] {
            _ = try await store.changeUser(dora, role: change.0, now: now)
            _ = try await store.changeUser(dora, apps: change.1, now: now)
            try await self.makeCode(by: "paul").expectProblem(.forbidden)
        }
        try await self.makeCode(of: "nobody", by: "paul").expectProblem(.notFound)
        try await self.makeCode(by: "alice").expectProblem(.forbidden)
    }

    @Test func aDisabledUserIsNotEnrolled() async throws {
        let code = try #require(try await self.makeCode().json["Code"]?.text)
        let body = #"{"Disabled":true}"#
        #expect(try await self.fixture.send(.patch, Paths.user("dora"), user: "ada", body: body).status == .noContent)
        try await self.makeCode().expectProblem(.forbidden, "disabled")
        try await self.enrol(code).expectProblem(.enrolmentRefused)
    }

    @Test func wrongCodesAreRefusedAndThrottled() async throws {
        let client = PeerAddress.ip(try #require(IPAddress("192.0.2.7")))
        var codes: [Int: Int] = [:]
        for number in 0..<60 {
            let text = number.isMultiple(of: 2) ? EnrolmentCode.random().text.exposed : "x"
            codes[try await self.enrol(text, client: client).status.code, default: 0] += 1
        }
        #expect(Set(codes.keys) == [403, 429])
        let elsewhere = try #require(try await self.makeCode().json["Code"]?.text)
        #expect(try await self.enrol(elsewhere).status == .created)
    }

    @Test func aUserWithoutAPasswordCannotSignInWithOne() async throws {
        for password in ["", "null", String(repeating: "\u{0}", count: 32)] {
            let field = [("Authorization", ServerFixture.basic("dora", password: password))]
            try await self.fixture.send(.get, Paths.currentSession, user: nil, headers: field).expectProblem(
                .unauthorized
            )
        }
        let users = try await self.fixture.send(.get, Paths.user("dora"), user: "ada")
        #expect(try users.json["HasPassword"] == .bool(false))
        #expect(try await self.fixture.send(.get, Paths.user("bob"), user: "ada").json["HasPassword"] == .bool(true))
    }

    @Test func aUserWithoutAPasswordMustBeRequestedExplicitly() async throws {
        for body in [
            #"{"Name":"eve"}"#, #"{"Name":"eve","Password":null}"#, #"{"Name":"eve","WithoutPassword":false}"#,
            #"{"Name":"eve","WithoutPassword":true,"Password":"seven of nine 42"}"#,
        ] {
            try await self.fixture.send(.post, Paths.users, user: "ada", body: body).expectProblem(
                .invalidMember,
                "Password"
            )
        }
    }
}

import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// How users sign in for a token, use it and end it.
@Suite(.eachReader, .timeLimit(.minutes(5))) struct TokenTests {
    private let fixture: ServerFixture

    init() async throws {
        self.fixture = try await ServerFixture()
    }

    /// Signs in with the password and returns the token.
    private func signIn(_ user: String = "alice", _ body: String = "") async throws -> String {
        let response = try await self.fixture.send(.post, Paths.sessions, user: user, body: body)
        #expect(response.status == .created, "\(response.text)")
        return try #require(try response.json["Token"]?.text)
    }

    private func send(
        _ method: HTTPRequest.Method = .get,
        _ target: String = Paths.register,
        bearer token: String,
        headers: [(String, String)] = [],
        body: String = "",
        loop: Int = 0
    ) async throws -> Response {
        let headers = [("Authorization", "Bearer \(token)")] + headers
        return try await self.fixture.send(method, target, user: nil, headers: headers, body: body, loop: loop)
    }

    /// Uses the token on each event loop, so that each loop caches it, and checks whether the
    /// token is valid.
    private func expect(_ token: String, isGood: Bool, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        for loop in 0..<ServerFixture.loops {
            let response = try await self.send(bearer: token, loop: loop)
            if isGood {
                #expect(response.status == .ok, "loop \(loop)", sourceLocation: sourceLocation)
            } else {
                try response.expectProblem(.invalidBearerToken, sourceLocation: sourceLocation)
            }
        }
    }

    /// A connection remembers the token that it has sent last. All other fields, and a token that
    /// has ended, must have the same answers as on a new connection.
    @Test func aConnectionThatSendsItsTokenAgainIsStillCheckedAtEachRequest() async throws {
        let connection = ConnectionMemory()
        func name(_ fields: String...) async throws -> String? {
            let headers = fields.map { ("Authorization", $0) }
            return try await self.fixture.send(
                .get,
                Paths.currentSession,
                user: nil,
                headers: headers,
                memory: connection
            ).json["Name"]?.text
        }
        let (alice, paul) = ("Bearer \(try await self.signIn())", "Bearer \(try await self.signIn("paul"))")
        for _ in 0..<3 { #expect(try await name(alice) == "alice") }
        for _ in 0..<2 { #expect(try await name(paul) == "paul") }
        for wrong in [String(paul.dropLast()), "\(paul)a", "\(paul.dropLast())\(paul.last == "a" ? "b" : "a")", ""] {
            #expect(try await name(paul) == "paul")
            #expect(try await name(wrong) == nil)
        }
        #expect(try await name(paul) == "paul")
        #expect(try await name(paul, paul) == nil)
        #expect(try await name() == nil)
        #expect(try await name(paul) == "paul")
        #expect(try await name(ServerFixture.basic("alice")) == "alice")
        #expect(try await name(alice) == "alice")
        let headers = [("Authorization", alice)]
        let end = try await self.fixture.send(.delete, Paths.currentSession, user: nil, headers: headers)
        #expect(end.status == .noContent)
        #expect(try await name(alice) == nil)
        #expect(try await name(paul) == "paul")
        self.fixture.clock.advance(by: 400 * 86_400)
        #expect(try await name(paul) == nil)
    }

    private func lastUse(of token: String) async throws -> Date? {
        let tokens = try await self.fixture.storage.reader.tokens(
            of: nil,
            after: nil,
            limit: 10,
            now: self.fixture.clock.now
        )
        return try #require(tokens.first { token.hasPrefix($0.prefix.description) }).usedAt
    }

    // MARK: The device

    /// Returns the body that registers a device with a handle of 32 equal bytes. `byte` is the
    /// byte in two hexadecimal digits.
    private static func registration(_ byte: String) -> String {
        #"{"Platform":"apns","Handle":"\#(String(repeating: byte, count: 32))"}"#
    }

    /// Registers a device with a token, if both an id and a token are given. Returns the list of
    /// the user's devices.
    private func devices(registering id: String? = nil, with token: String? = nil, handle: String = "aa") async throws
        -> String
    {
        if let id, let token {
            let body = Self.registration(handle)
            let response = try await self.send(.put, Paths.registration(id), bearer: token, body: body)
            #expect(response.status == .ok, "\(response.text)")
        }
        return try await self.fixture.send(.get, Paths.register).text
    }

    @Test func aSessionBeginsWithThePasswordAndLastsAsConfigured() async throws {
        let response = try await self.fixture.send(.post, Paths.sessions)
        #expect(response.status == .created)
        #expect(response.fields[.cacheControl] == "no-store")
        let json = try response.json
        let token = try #require(json["Token"]?.text)
        let account = try #require(response.fields[.account])
        let expected =
            #"{"Name":"alice","Account":"\#(account)","Token":"\#(token)","ExpiresAt":"2027-04-15T08:00:00Z","#
            + #""Scopes":["fetch","send","register"]}"#
        #expect(response.text == expected)
        #expect(BearerToken(token) != nil)
        try await self.expect(token, isGood: true)
    }

    @Test func aSignOutEndsTheDeviceOfTheSession() async throws {
        let (token, other) = (try await self.signIn(), try await self.signIn())
        let (id, kept) = (try await self.fixture.requestRegistration(), try await self.fixture.requestRegistration())
        _ = try await self.devices(registering: kept, with: other, handle: "bb")
        #expect(try await self.devices(registering: id, with: token).contains(id))
        #expect(try await self.send(.delete, Paths.currentSession, bearer: token).status == .noContent)
        let left = try await self.devices()
        #expect(!left.contains(id) && left.contains(kept))
        try await self.send(.put, Paths.registration(id), bearer: other, body: Self.registration("aa"))
            .expectProblem(.registrationGone, "the session that registered it has ended")
    }

    @Test func aNewPasswordEndsTheDevicesOfItsSessionsOnly() async throws {
        let (token, id) = (try await self.signIn(), try await self.fixture.requestRegistration())
        let byPassword = try await self.fixture.requestRegistration()
        _ = try await self.devices(registering: id, with: token)
        let body = Self.registration("bb")
        #expect(try await self.fixture.send(.put, Paths.registration(byPassword), body: body).status == .ok)
        let change = #"{"Password":"another long password"}"#
        let changed = try await self.fixture.send(.patch, "/api/users/alice", user: "ada", body: change)
        #expect(changed.status == .noContent, "\(changed.text)")
        let alice = try await self.fixture.storage.user("alice")
        let left = try await self.fixture.storage.reader.devices(ofUser: alice.id)
        #expect(left.map(\.id.description) == [byPassword])
    }

    // MARK: Signing in

    @Test(arguments: ["Bearer", "bearer", "BEARER", "bEaReR"])
    func theSchemeIsReadInAnyCase(scheme: String) async throws {
        let token = try await self.signIn()
        for blanks in [" ", "   "] {
            let headers = [("Authorization", "\(scheme)\(blanks)\(token)")]
            #expect(try await self.fixture.send(.get, Paths.register, user: nil, headers: headers).status == .ok)
        }
    }

    @Test func aSessionActsAsItsUser() async throws {
        let path = try await self.fixture.post(#"{"Payload":"for alice","To":["username:alice"]}"#)
        let (alices, bobs) = (try await self.signIn("alice"), try await self.signIn("bob"))
        for _ in 0..<2 {
            #expect(try await self.send(.get, path, bearer: alices).json["Payload"] == .string("for alice"))
            try await self.send(.get, path, bearer: bobs).expectProblem(.notFound)
        }
        try await self.send(.post, Paths.notifications, bearer: bobs, body: #"{"Payload":1,"To":["news"]}"#)
            .expectProblem(.forbidden)
    }

    @Test func aTokenCannotBeginASession() async throws {
        let token = try await self.signIn("ada")
        try await self.send(.post, Paths.sessions, bearer: token).expectProblem(.forbidden, "password")
    }

    @Test func theManageScopeMustBeRequested() async throws {
        let (usual, named) = (try await self.signIn("ada"), try await self.signIn("ada", #"{"Scopes":["manage"]}"#))
        try await self.send(.get, Paths.users, bearer: usual).expectProblem(.insufficientScope, "manage")
        #expect(try await self.send(.get, Paths.users, bearer: named).status == .ok)
    }

    @Test func aSessionMayHaveFewerScopesAndLessTime() async throws {
        let token = try await self.signIn("alice", #"{"Scopes":["fetch"],"ExpiresIn":60}"#)
        try await self.send(bearer: token).expectProblem(.insufficientScope, "the token lacks the scope register")
        let path = try await self.fixture.post(#"{"Payload":1,"To":["username:alice"]}"#)
        #expect(try await self.send(.get, path, bearer: token).status == .ok)
        self.fixture.clock.advance(by: 60)
        try await self.send(.get, path, bearer: token).expectProblem(.invalidBearerToken)
    }

    @Test(arguments: [
        (#"{"Scopes":["manage"]}"#, "a token of a device can have one or more of fetch, send, register"),
        (#"{"Scopes":["fetch","fly"]}"#, "can have"), (#"{"Scopes":[]}"#, "can have"),
        (#"{"Scopes":"fetch"}"#, "Scopes must be an array"), (#"{"ExpiresIn":0}"#, "ExpiresIn must be 1 to 7776000"),
        (#"{"ExpiresIn":-1}"#, "ExpiresIn"), (#"{"ExpiresIn":7776001}"#, "ExpiresIn must be 1 to 7776000"),
        (#"{"ExpiresIn":9223372036854775807}"#, "ExpiresIn"), (#"{"ExpiresIn":"1"}"#, "ExpiresIn must be an integer"),
        (#"{"Cookie":null}"#, "Cookie must not be null"), (#"{"Scopes":null}"#, "Scopes must not be null"),
    ])
    func anInvalidSessionMemberIsNamed(body: String, detail: String) async throws {
        try await self.fixture.send(.post, Paths.sessions, body: body).expectProblem(.invalidMember, detail)
    }

    // MARK: Refusals

    @Test(arguments: [
        "", "x", "spt_", "QWxhZGRpbjpvcGVuIHNlc2FtZQ==", BearerToken.random().text.exposed,
        String(BearerToken.random().text.exposed.dropLast()), String(repeating: "A", count: 5000), "\u{FF}",
    ])
    func anInvalidTokenIsRefusedWithTheSameBytes(token: String) async throws {
        let id = [("X-Request-Id", "same")]
        let reference = try await self.send(bearer: "spt_\(String(repeating: "0", count: 42))", headers: id)
        let response = try await self.send(bearer: token, headers: id)
        try response.expectProblem(.invalidBearerToken)
        #expect(response.body == reference.body)
        #expect(response.fields == reference.fields)
    }

    @Test func theBearerChallengeReportsAnInvalidToken() async throws {
        let lines = try await self.send(bearer: "x").fields.lines
        #expect(
            lines.filter { $0.name == .wwwAuthenticate }.map(\.value) == [
                #"Basic realm="sealpost", charset="UTF-8""#, #"Bearer realm="sealpost", error="invalid_token""#,
            ]
        )
    }

    @Test func aTokenIsComparedExactly() async throws {
        let token = try await self.signIn()
        for other in [token.lowercased(), token + "=", token + " x", " " + token + "\u{A0}", "Bearer \(token)"] {
            try await self.send(bearer: other).expectProblem(.invalidBearerToken)
        }
        try await self.fixture.send(.get, "\(Paths.register)?access_token=\(token)", user: nil)
            .expectProblem(.unauthorized)
    }

    @Test func noTokenIsLogged() async throws {
        let token = try await self.signIn("ada", #"{"Scopes":["manage"]}"#)
        let made = try await self.send(.post, Paths.tokens, bearer: token, body: #"{"User":"bob"}"#)
        let other = try #require(try made.json["Token"]?.text)
        try await self.expect(other, isGood: true)
        _ = try await self.send(.delete, Paths.token(String(other.prefix(12))), bearer: token)
        try await self.expect(other, isGood: false)
        let log = self.fixture.log.lines.joined(separator: "\n")
        #expect(log.contains("token revoked"))
        for secret in [token, other] { #expect(!log.contains(secret.dropFirst(12))) }
    }

    // MARK: The end of a session

    @Test func anEndedSessionIsRefusedAtOnceOnEveryLoop() async throws {
        for loop in 0..<ServerFixture.loops {
            let (token, other) = (try await self.signIn(), try await self.signIn())
            for each in [token, other] { try await self.expect(each, isGood: true) }
            let response = try await self.send(.delete, Paths.currentSession, bearer: token, loop: loop)
            #expect(response.status == .noContent)
            try await self.expect(token, isGood: false)
            try await self.expect(other, isGood: true)
        }
    }

    @Test func aPasswordCallerHasNoSessionToEnd() async throws {
        try await self.fixture.send(.delete, Paths.currentSession).expectProblem(.notFound)
    }

    @Test func aRevokedTokenIsRefusedAtOnceOnEveryLoop() async throws {
        for loop in 0..<ServerFixture.loops {
            let token = try await self.signIn()
            try await self.expect(token, isGood: true)
            let path = Paths.token(String(token.prefix(12)))
            #expect(try await self.fixture.send(.delete, path, user: "ada", loop: loop).status == .noContent)
            try await self.expect(token, isGood: false)
            try await self.fixture.send(.delete, path, user: "ada", loop: loop).expectProblem(.notFound)
        }
    }

    @Test func anExpiredTokenIsRefusedAtOnceOnEveryLoop() async throws {
        let token = try await self.signIn("alice", #"{"ExpiresIn":10}"#)
        try await self.expect(token, isGood: true)
        self.fixture.clock.advance(by: 9.999)
        try await self.expect(token, isGood: true)
        self.fixture.clock.advance(by: 0.001)
        try await self.expect(token, isGood: false)
    }

    @Test func excessSessionsAreRefusedAtOnceOnEveryLoop() async throws {
        let oldest = try await self.signIn()
        try await self.expect(oldest, isGood: true)
        for _ in 1..<NewSession.maximumCount {
            self.fixture.clock.advance(by: 0.001)
            _ = try await self.signIn()
        }
        try await self.expect(oldest, isGood: true)
        _ = try await self.signIn()
        try await self.expect(oldest, isGood: false)
    }

    @Test func changesOfTheUserApplyAtOnceOnEveryLoop() async throws {
        for loop in 0..<ServerFixture.loops {
            let token = try await self.signIn("paul")
            let send = { (loop: Int) in
                try await self.send(
                    .post,
                    Paths.notifications,
                    bearer: token,
                    body: #"{"Payload":1,"To":["x"]}"#,
                    loop: loop
                )
            }
            // A change to a lower role keeps the session, but not the rights of the higher role. A
            // change back to the higher role ends the session.
            for (role, status) in [("device", 403), ("publisher", 401)] {
                let body = #"{"Role":"\#(role)"}"#
                #expect(
                    try await self.fixture.send(.patch, "/api/users/paul", user: "ada", body: body, loop: loop).status
                        == .noContent
                )
                for each in 0..<ServerFixture.loops { #expect(try await send(each).status.code == status) }
            }
        }
    }

    @Test func aNewPasswordEndsSessionsAndTheOldPasswordOnEveryLoop() async throws {
        let session = try await self.signIn("bob")
        let made = try await self.fixture.send(.post, Paths.tokens, user: "ada", body: #"{"User":"bob"}"#)
        let given = try #require(try made.json["Token"]?.text)
        for token in [session, given] { try await self.expect(token, isGood: true) }
        for loop in 0..<ServerFixture.loops {
            #expect(try await self.fixture.send(.get, Paths.register, user: "bob", loop: loop).status == .ok)
        }
        let body = #"{"Password":"another one"}"#
        #expect(try await self.fixture.send(.patch, "/api/users/BOB", user: "ada", body: body).status == .noContent)
        try await self.expect(session, isGood: false)
        try await self.expect(given, isGood: true)
        for loop in 0..<ServerFixture.loops {
            try await self.fixture.send(.get, Paths.register, user: "bob", loop: loop).expectProblem(.unauthorized)
            let headers = [("Authorization", ServerFixture.basic("bob", password: "another one"))]
            #expect(
                try await self.fixture.send(.get, Paths.register, user: nil, headers: headers, loop: loop).status == .ok
            )
        }
    }

    @Test func aDeletedUserIsRefusedOnEveryLoop() async throws {
        let token = try await self.signIn("bob")
        try await self.expect(token, isGood: true)
        #expect(try await self.fixture.send(.delete, "/api/users/bob", user: "ada", loop: 1).status == .noContent)
        try await self.expect(token, isGood: false)
        for loop in 0..<ServerFixture.loops {
            try await self.fixture.send(.get, Paths.register, user: "bob", loop: loop).expectProblem(.unauthorized)
        }
        try await self.fixture.send(.delete, "/api/users/bob", user: "ada").expectProblem(.notFound)
    }

    // MARK: Last use

    @Test func theLastUseIsRecordedAtMostEveryFiveMinutes() async throws {
        let token = try await self.signIn()
        let store = self.fixture.storage.store
        let start = self.fixture.clock.now
        try await self.expect(token, isGood: true)
        #expect(try await self.lastUse(of: token) == nil, "written later")
        #expect(try await store.writeTokenUses(limit: 10) == 1)
        #expect(try await self.lastUse(of: token) == start)
        self.fixture.clock.advance(by: 299)
        self.fixture.authenticator.accountChanged(try #require(Username("alice")))
        try await self.expect(token, isGood: true)
        #expect(try await store.writeTokenUses(limit: 10) == 0)
        self.fixture.clock.advance(by: 1)
        self.fixture.authenticator.accountChanged(try #require(Username("alice")))
        try await self.expect(token, isGood: true)
        #expect(try await store.writeTokenUses(limit: 10) == 1)
        #expect(try await self.lastUse(of: token) == start + 300)
    }
}

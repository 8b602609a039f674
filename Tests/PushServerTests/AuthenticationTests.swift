import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

@Suite(.eachReader, .timeLimit(.minutes(5))) struct AuthenticationTests {
    /// Invalid values of `Authorization`, each invalid for a different reason. `nil` stands for a
    /// request without the field.
    static let wrong: [String?] = [
        nil, "", "Basic", "Basic ", "Basic !!!!", "Basic \(encoded("alice"))", "Basic \(encoded("alice:wrong"))",
        "Basic \(encoded("alice:"))", "Basic \(encoded(":\(ServerFixture.password)"))", "Basic \(encoded(":"))",
        "Basic \(encoded("nobody:\(ServerFixture.password)"))", "Basic \(encoded("alice:\(ServerFixture.password) "))",
        "Basic \(encoded("no name:\(ServerFixture.password)"))", "Basic \(encoded("alice:pass"))",
        "Basic \(encoded("alice:\(ServerFixture.password)\u{0}"))", "Basic \(encoded("al\nice:x"))",
        "Basic \(encoded("alice:\u{7F}"))", "Basic \(encoded("alice:\(String(repeating: "x", count: 5000))"))",
        "Basic \(Data([0x61, 0x3A, 0xFF, 0xFE]).base64EncodedString())", "Basic YWxpY2U",
        "Basic \(encoded("alice:\(ServerFixture.password)").dropLast(1))", "Digest username=\"alice\"",
        encoded("alice:\(ServerFixture.password)"),
        "Basic\(encoded("alice:\(ServerFixture.password)"))", "Basic \(encoded("alice:x")) \(encoded("alice:x"))",
        "Basic alice:\(ServerFixture.password)",
    ]

    private static func encoded(_ text: String) -> String { Data(text.utf8).base64EncodedString() }

    private let fixture: ServerFixture

    init() async throws {
        self.fixture = try await ServerFixture()
    }

    private func list(_ authorization: String?, headers: [(String, String)] = []) async throws -> Response {
        let field = authorization.map { [("Authorization", $0)] } ?? []
        return try await self.fixture.send(.get, "/api/register", user: nil, headers: field + headers)
    }

    @Test func theCredentialsOfTheRFCsExampleSignIn() async throws {
        let fixture = try await ServerFixture()
        try await fixture.storage.addUser("Aladdin", role: .device, try PasswordHash(of: "open sesame"))
        let headers = [("Authorization", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")]
        #expect(try await fixture.send(.get, "/api/register", user: nil, headers: headers).status == .ok)
    }

    @Test(arguments: Self.wrong)
    func anUnauthenticatedCallerGetsTheSameBytesForAnyReason(authorization: String?) async throws {
        let id = [("X-Request-Id", "same")]
        let reference = try await self.list(nil, headers: id)
        let response = try await self.list(authorization, headers: id)
        try response.expectProblem(.unauthorized)
        #expect(response.body == reference.body)
        #expect(response.fields == reference.fields)
    }

    @Test func twoAuthorizationFieldsAreRefused() async throws {
        let right = ("Authorization", ServerFixture.basic("alice"))
        let response = try await self.fixture.send(.get, "/api/register", user: nil, headers: [right, right])
        try response.expectProblem(.unauthorized)
    }

    @Test func eachChallengeIsAFieldOfItsOwnWithBasicFirst() async throws {
        let challenges = try await self.list(nil).fields.lines.filter { $0.name == .wwwAuthenticate }.map(\.value)
        #expect(
            challenges == [#"Basic realm="sealpost", charset="UTF-8""#, #"Bearer realm="sealpost""#]
        )
    }

    @Test(arguments: ["Basic", "basic", "BASIC", "bAsIc"])
    func theSchemeIsReadInAnyCase(scheme: String) async throws {
        let credentials = Self.encoded("alice:\(ServerFixture.password)")
        #expect(try await self.list("\(scheme) \(credentials)").status == .ok)
        #expect(try await self.list("\(scheme)   \(credentials)  ").status == .ok, "blanks in between")
    }

    @Test(arguments: ["alice", "Alice", "ALICE"])
    func theNameIsReadInAnyCase(name: String) async throws {
        try await self.fixture.storage.addDevice(of: self.fixture.storage.user("alice"), handle: "a1")
        let response = try await self.list(ServerFixture.basic(name))
        #expect(response.status == .ok)
        #expect(try response.json != .array([]))
    }

    @Test(arguments: ["pass: wörd: 12", "PASS: WÖRD: 123", "pass", "pass: wo\u{308}rd: 123"])
    func thePasswordIsComparedByteForByte(password: String) async throws {
        try await self.list(ServerFixture.basic("alice", password: password)).expectProblem(.unauthorized)
    }

    @Test func earlierAttemptsDoNotChangeTheVerdictOnCredentials() async throws {
        let (right, wrong) = (ServerFixture.basic("alice"), ServerFixture.basic("alice", password: "wrong one"))
        for authorization in [wrong, right, wrong, right] {
            let isRight = authorization == right
            #expect(try await self.list(authorization).status == (isRight ? .ok : .unauthorized))
        }
        self.fixture.clock.advance(by: 100_000)
        #expect(try await self.list(wrong).status == .unauthorized)
        #expect(try await self.list(right).status == .ok)
    }

    @Test func aBurstOfTheSameUserIsAnsweredInFull() async throws {
        let statuses = try await withThrowingTaskGroup(of: HTTPResponse.Status.self) { group in
            for number in 0..<50 {
                let password = number.isMultiple(of: 2) ? ServerFixture.password : "wrong \(number)"
                group.addTask { try await self.list(ServerFixture.basic("alice", password: password)).status }
            }
            return try await group.reduce(into: [:]) { $0[$1.code, default: 0] += 1 }
        }
        #expect(statuses[200] == 25)
        #expect(statuses.values.reduce(0, +) == 50)
        // The limiter refuses the attempts beyond its limit with status 429, without checking
        // their passwords. While the server checks a password, that attempt counts as failed. A
        // correct password resets the number of failures.
        #expect((1...11).contains(statuses[401] ?? 0))
        #expect(Set(statuses.keys) == [200, 401, 429])
    }

    // MARK: Before anything else

    @Test(arguments: [
        (HTTPRequest.Method.get, "/api/notifications/1"), (.get, "/api/nothing"), (.get, "/api"), (.get, "/API/x"),
        (.delete, "/api/notifications"), (.patch, "/api/register"), (.options, "/api/register"),
        (.put, "/api/register/%20"), (.post, "/api/notifications?to_tag=%FF"), (.post, "/api/users"),
    ])
    func strangersDoNotLearnWhichRoutesExist(method: HTTPRequest.Method, target: String) async throws {
        let id = [("X-Request-Id", "same")]
        let response = try await self.fixture.send(method, target, user: nil, headers: id, body: "{")
        try response.expectProblem(.unauthorized)
        #expect(response.fields[.allow] == nil)
        #expect(try await response.body == self.list(nil, headers: id).body)
    }

    @Test func aConditionalRequestWithoutCredentialsIsUnauthorized() async throws {
        let path = try await self.fixture.post(#"{"Payload":1,"To":["username:alice"]}"#)
        let response = try await self.fixture.send(.get, path, user: nil, headers: [("If-None-Match", "*")])
        try response.expectProblem(.unauthorized)
    }

    @Test(arguments: [("/healthz", 200), ("/readyz", 200), ("/nothing", 404), ("/", 308), ("/healthz/x", 404)])
    func openPathsIgnoreCredentials(target: String, status: Int) async throws {
        for headers in [[], [("Authorization", "Basic !")]] {
            let response = try await self.fixture.send(.get, target, user: nil, headers: headers)
            #expect(response.status.code == status)
        }
    }
}

/// The server reads the credentials of Basic authentication (RFC 7617).
@Suite(.timeLimit(.minutes(5))) struct BasicCredentialsTests {
    @Test(arguments: [
        ("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "Aladdin", "open sesame"),
        ("Basic dGVzdDoxMjPCow==", "test", "123£"),
        ("basic YTpiOmM6", "a", "b:c:"), ("Basic YTo=", "a", ""),
        // The password begins with a combining character, which forms one `Character` with the
        // colon before the password.
        ("Basic YTrMgWI6Yw==", "a", "\u{301}b:c"),
    ])
    func theFirstColonSeparatesNameAndPassword(field: String, username: String, password: String) throws {
        let credentials = try #require(BasicCredentials(field: field))
        #expect(credentials.username.description == username)
        #expect(credentials.password.exposed == password)
        #expect(password.isEmpty || !"\(credentials)".contains(password), "a password does not print")
    }

    @Test(arguments: [
        "a:\u{0}", "a:b\u{0}", "a:\n", "a:b\r\nc", "a:\u{1F}", "a:\u{7F}", "a\t:b", "ab", "", "a b:c", "ä:b", ":b",
        String(repeating: "a", count: 101) + ":b",
    ])
    func malformedCredentialsAreRefused(text: String) {
        let encoded = Data(text.utf8).base64EncodedString()
        #expect(BasicCredentials(field: "Basic \(encoded)") == nil)
    }
}

import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// How administrators manage the tokens of users.
@Suite(.timeLimit(.minutes(5))) struct TokenAdministrationTests {
    private let fixture: ServerFixture

    init() async throws {
        self.fixture = try await ServerFixture()
    }

    private func add(_ body: String) async throws -> Response {
        try await self.fixture.send(.post, Paths.tokens, user: "ada", body: body)
    }

    private func list(_ query: String = "") async throws -> JSONValue {
        let response = try await self.fixture.send(.get, Paths.tokens + query, user: "ada")
        #expect(response.status == .ok)
        return try response.json
    }

    @Test func aTokenIsShownOnceAndListedByItsPrefix() async throws {
        let made = try await self.add(#"{"User":"BOB","Scopes":["send","fetch"],"ExpiresIn":31536000}"#)
        #expect(made.status == .created)
        let token = try #require(try made.json["Token"]?.text)
        let scopes = #""Scopes":["fetch","send"]"#
        let prefix = token.prefix(12)
        #expect(
            made.text == #"{"Token":"\#(token)","Prefix":"\#(prefix)","ExpiresAt":"2028-01-15T08:00:00Z",\#(scopes)}"#
        )
        let list = try await self.fixture.send(.get, Paths.tokens, user: "ada")
        let times = #""CreatedAt":"2027-01-15T08:00:00Z","ExpiresAt":"2028-01-15T08:00:00Z","LastUse":null"#
        let name = self.fixture.storage.reader.auditName(of: try #require(TokenPrefix(String(prefix))))
        let audit = #""AuditId":"\#(name)""#
        let entry = #"{"Prefix":"\#(prefix)","User":"bob","Session":false,\#(scopes),\#(times),\#(audit)}"#
        #expect(list.text == #"{"Tokens":[\#(entry)],"Cursor":"\#(prefix)","More":false}"#)
    }

    @Test func theDefaultsAreThoseOfASession() async throws {
        let json = try await self.add(#"{"User":"ada"}"#).json
        #expect(json["Scopes"] == .array(["fetch", "send", "register"].map { .string($0) }))
        #expect(json["ExpiresAt"] == .string("2027-04-15T08:00:00Z"))
    }

    /// A token of a disabled user would work as soon as the user is enabled again.
    @Test func aDisabledUserGetsNeitherATokenNorACode() async throws {
        for (isDisabled, status) in [(true, HTTPResponse.Status.forbidden), (false, .created)] {
            let body = #"{"Disabled":\#(isDisabled)}"#
            _ = try await self.fixture.send(.patch, Paths.user("bob"), user: "ada", body: body)
            let token = try await self.add(#"{"User":"bob"}"#)
            let code = try await self.fixture.send(.post, "\(Paths.user("bob"))/enrolment", user: "ada")
            #expect(token.status == status && code.status == status, "\(token.text), \(code.text)")
            guard isDisabled else { continue }
            try token.expectProblem(.forbidden, "the user is disabled")
            try code.expectProblem(.forbidden, "the user is disabled")
        }
    }

    @Test(arguments: [
        (#"{"User":"nobody"}"#, ProblemCode.unknownUser, ""), (#"{"User":"a b"}"#, .unknownUser, ""),
        ("{}", .invalidMember, "User is missing"),
        (#"{"User":"bob","ExpiresIn":31536001}"#, .invalidMember, "ExpiresIn"),
        (#"{"User":"bob","ExpiresIn":null}"#, .invalidMember, "ExpiresIn must not be null"),
        (#"{"User":"bob","Scopes":null}"#, .invalidMember, "Scopes must not be null"),
        (#"{"User":"bob","Scopes":["manage"]}"#, .invalidMember, "a token of a device can have"),
        ("[]", .invalidJSON, ""),
    ])
    func anInvalidTokenRequestIsRefused(body: String, code: ProblemCode, detail: String) async throws {
        try await self.add(body).expectProblem(code, detail)
        #expect(try await self.list()["Tokens"] == .array([]))
    }

    @Test func tokensAreListedInPages() async throws {
        var prefixes: [String] = []
        for number in 0..<5 {
            let made = try await self.add(#"{"User":"\#(number < 3 ? "alice" : "bob")"}"#)
            prefixes.append(try #require(try made.json["Prefix"]?.text))
        }
        var (listed, last, sizes): ([String], String?, [Int]) = ([], nil, [])
        while true {
            let page = try await self.list("?limit=2" + (last.map { "&after=\($0)" } ?? ""))
            guard case .array(let entries)? = page["Tokens"] else { break }
            listed += entries.compactMap { $0["Prefix"]?.text }
            sizes.append(entries.count)
            guard page["More"] == .bool(true) else { break }
            last = listed.last
        }
        #expect(listed == prefixes.sorted())
        #expect(sizes == [2, 2, 1])
        guard case .array(let bobs)? = try await self.list("?user=Bob")["Tokens"] else { throw CancellationError() }
        #expect(bobs.compactMap { $0["Prefix"]?.text } == prefixes[3...].sorted())
    }

    @Test(arguments: ["limit=0", "limit=501", "limit=x", "user=a%20b", "after=x", "limit=1&limit=1"])
    func anInvalidParameterIsNamed(query: String) async throws {
        let word = String(query.prefix { $0 != "=" })
        try await self.fixture.send(.get, "\(Paths.tokens)?\(query)", user: "ada").expectProblem(
            .invalidParameter,
            word
        )
    }

    @Test(arguments: ["spt_00000000", "x", "%20", "spt_0000000%FF"])
    func anUnknownTokenPrefixIsNotFound(prefix: String) async throws {
        try await self.fixture.send(.delete, Paths.token(prefix), user: "ada").expectProblem(.notFound)
    }
}

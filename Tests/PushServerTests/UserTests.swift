import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// Administrators add users while the server runs.
@Suite(.timeLimit(.minutes(5))) struct UserTests {
    private let fixture: ServerFixture

    init() async throws {
        self.fixture = try await ServerFixture()
    }

    private func add(_ body: String) async throws -> Response {
        try await self.fixture.send(.post, Paths.users, user: "ada", body: body)
    }

    private func signIn(_ name: String, password: String) async throws -> HTTPResponse.Status {
        let headers = [("Authorization", ServerFixture.basic(name, password: password))]
        return try await self.fixture.send(.get, Paths.register, user: nil, headers: headers).status
    }

    @Test func aNewUserIsADeviceAndSignsInAtOnce() async throws {
        #expect(try await self.signIn("Carol", password: "long enough") == .unauthorized)
        let response = try await self.add(#"{"Name":"Carol","Password":"long enough"}"#)
        #expect(response.status.code == 201)
        #expect(
            response.text == #"{"Name":"Carol","Role":"device","Apps":["default"],"RequiresEncryption":false}"#
        )
        #expect(response.fields[.cacheControl] == "no-store")
        #expect(try await self.signIn("carol", password: "long enough") == .ok)
        #expect(try await self.signIn("carol", password: "long enough!") == .unauthorized)
        #expect(try await self.fixture.storage.user("carol").role == .device)
    }

    @Test(arguments: Role.allCases)
    func aNewUserHasTheRequestedRole(role: Role) async throws {
        let response = try await self.add(#"{"name":"carol","password":"long enough","role":"\#(role.rawValue)"}"#)
        #expect(try response.json["Role"] == .string(role.rawValue))
        #expect(try await self.fixture.storage.user("carol").role == role)
    }

    @Test(arguments: StoreKind.all) func aNewUserMayRequireEncryption(kind: StoreKind) async throws {
        let fixture = try await StoreKind.$current.withValue(kind) { try await ServerFixture() }
        let body = #"{"Name":"carol","WithoutPassword":true,"RequiresEncryption":true}"#
        let response = try await fixture.send(.post, Paths.users, user: "ada", body: body)
        #expect(try response.json["RequiresEncryption"] == .bool(true), "\(response.text)")
        let shown = try await fixture.send(.get, Paths.user("carol"), user: "ada")
        #expect(try shown.json["RequiresEncryption"] == .bool(true))
        let audit = try await fixture.send(.get, "\(Paths.audit)?limit=1", user: "ada")
        #expect(audit.text.contains(#""Detail":"device, encryption required""#))
        try await fixture.send(
            .post,
            Paths.notifications,
            user: "paul",
            body: #"{"Payload":1,"To":["username:carol"]}"#
        ).expectProblem(.encryptionRequired, "carol")
    }

    @Test(arguments: ["bob", "Bob", "BOB", "ada"])
    func aNameIsUniqueInAnyCase(name: String) async throws {
        let response = try await self.add(#"{"Name":"\#(name)","Password":"long enough","Role":"admin"}"#)
        try response.expectProblem(.conflict, "already exists")
        #expect(try await self.signIn(name, password: "long enough") == .unauthorized)
        #expect(try await self.fixture.storage.user("bob").role == .device)
    }

    @Test(arguments: [
        (#"{"Password":"long enough"}"#, "Name is missing"), (#"{"Name":"carol"}"#, "Password is missing"),
        (#"{"Name":1,"Password":"long enough"}"#, "Name must be a string"),
        (#"{"Name":"c","Password":"long enough","RequiresEncryption":1}"#, "RequiresEncryption must be"),
        (#"{"Name":"","Password":"long enough"}"#, "Name must be 1 to 100"),
        (#"{"Name":"a b","Password":"long enough"}"#, "Name must be 1"),
        (#"{"Name":"a:b","Password":"long enough"}"#, "Name must be 1"),
        (#"{"Name":"ä","Password":"long enough"}"#, "Name must be 1"),
        (#"{"Name":"carol","Password":["long enough"]}"#, "Password must be a string"),
        (
            #"{"Name":"carol","Password":"1234567"}"#,
            "Password: a password must have at least 8 characters and at most 256 bytes"
        ),
        (
            #"{"Name":"carol","Password":"long enough","Role":"root"}"#,
            "Role must be one of device, viewer, publisher, admin"
        ),
        (#"{"Name":"carol","Password":"long enough","Role":"Admin"}"#, "Role must be one of"),
        (#"{"Name":"carol","Password":"long enough","Role":1}"#, "Role must be a string"),
    ])
    func anInvalidMemberIsNamedAndCreatesNobody(body: String, detail: String) async throws {
        let response = try await self.add(body)
        try response.expectProblem(.invalidMember, detail)
        #expect(!response.text.contains("long enough"))
        await #expect(throws: StoreFixture.Missing.self) { try await self.fixture.storage.user("carol") }
    }

    @Test(arguments: [(100, 256, true), (101, 8, false), (1, 257, false), (1, 8, true)])
    func namesAndPasswordsHaveLengthLimits(name: Int, password: Int, isTaken: Bool) async throws {
        let (name, password) = (String(repeating: "n", count: name), String(repeating: "p", count: password))
        let response = try await self.add(#"{"Name":"\#(name)","Password":"\#(password)"}"#)
        #expect(response.status == (isTaken ? .created : .badRequest))
    }

    @Test func aPasswordMayHaveColonsAndEmojiButNoControlCharacters() async throws {
        // Passwords may contain a colon and characters outside ASCII, but no control characters,
        // because no client can send those.
        #expect(try await self.add(#"{"Name":"carol","Password":"p:ß:🔐:pass"}"#).status == .created)
        #expect(try await self.signIn("carol", password: "p:ß:🔐:pass") == .ok)
        try await self.add(#"{"Name":"dave","Password":"pass\u0000word"}"#).expectProblem(.invalidMember, "Password")
        try await self.add(#"{"Name":"dave","Password":"pass\nword"}"#).expectProblem(.invalidMember, "Password")
    }

    // MARK: Changes (TokenTests covers their effects)

    @Test(arguments: [
        (#"{"Role":"root"}"#, "Role must be one of device, viewer, publisher, admin"),
        (#"{"Role":1}"#, "Role must be a string"),
        (#"{"Password":"1234567"}"#, "Password: a password must have at least 8 characters and at most 256 bytes"),
        (#"{"Role":"admin","Password":["long enough"]}"#, "Password must be a string"),
    ])
    func anInvalidChangeIsNamedAndChangesNothing(body: String, detail: String) async throws {
        let response = try await self.fixture.send(.patch, Paths.user("bob"), user: "ada", body: body)
        try response.expectProblem(.invalidMember, detail)
        #expect(try await self.fixture.storage.user("bob").role == .device)
        #expect(try await self.signIn("bob", password: ServerFixture.password) == .ok)
    }

    @Test(arguments: ["nobody", "a%20b", "%FF"])
    func anUnknownUserIsNeitherChangedNorDeleted(name: String) async throws {
        try await self.fixture.send(.patch, Paths.user(name), user: "ada", body: "{}").expectProblem(.notFound)
        try await self.fixture.send(.delete, Paths.user(name), user: "ada").expectProblem(.notFound)
    }

    @Test func aNameIsPercentDecoded() async throws {
        #expect(try await self.add(#"{"Name":"a@b#c","Password":"long enough"}"#).status == .created)
        let body = #"{"Role":"publisher"}"#
        let response = try await self.fixture.send(.patch, Paths.user("a%40B%23c"), user: "ada", body: body)
        #expect(response.status == .noContent)
        #expect(try await self.fixture.storage.user("a@b#c").role == .publisher)
    }
}

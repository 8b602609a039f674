import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// Administrators list users and disable them.
@Suite(.timeLimit(.minutes(5))) struct UserAdministrationTests {
    private let fixture: ServerFixture

    init() async throws {
        self.fixture = try await ServerFixture()
    }

    private func patch(_ user: String, _ body: String, as administrator: String = "ada") async throws -> Response {
        try await self.fixture.send(.patch, Paths.user(user), user: administrator, body: body)
    }

    private func list(_ headers: [(String, String)], loop: Int = 0) async throws -> Response {
        try await self.fixture.send(
            .get,
            Paths.register,
            user: nil,
            headers: headers + [("X-Request-Id", "same")],
            loop: loop
        )
    }

    // MARK: Lists

    @Test func usersAreListedPageByPage() async throws {
        #expect(try await self.patch("bob", #"{"Disabled":true}"#).status == .noContent)
        var (users, last): ([JSONValue], String?) = ([], nil)
        repeat {
            let query = last.map { "&after=\($0)" } ?? ""
            let response = try await self.fixture.send(.get, "\(Paths.users)?limit=3\(query)", user: "ada")
            #expect(response.status == .ok)
            #expect(response.fields[.cacheControl] == "no-store")
            guard case .array(let page)? = try response.json["Users"] else {
                Issue.record("\(response.text)")
                return
            }
            #expect(try response.json["More"] == .bool(users.isEmpty))
            users += page
            last = try response.json["More"] == .bool(true) ? page.last?["Name"]?.text : nil
        } while last != nil
        #expect(Set(users.compactMap { $0["Name"]?.text }) == Set(ServerFixture.roles.keys))
        #expect(users.count == ServerFixture.roles.count)
        for user in users {
            let name = try #require(user["Name"]?.text)
            #expect(user["Role"]?.text == ServerFixture.roles[name]?.rawValue)
            #expect(user["Disabled"] == .bool(name == "bob"))
            let one = try await self.fixture.send(.get, Paths.user(name.uppercased()), user: "ada")
            #expect(try one.json == user)
        }
    }

    @Test func aUserIsShownWithoutTheHash() async throws {
        let response = try await self.fixture.send(.get, Paths.user("Alice"), user: "ada")
        let expected =
            #"{"Name":"alice","Role":"device","Apps":["default"],"Tags":[],"CreatedAt":"2027-01-15T08:00:00Z","Disabled":false,"HasPassword":true,"RequiresEncryption":false,"LastPush":null,"LastFetch":null}"#
        #expect(response.text == expected)
    }

    @Test(arguments: [
        ("limit=0", "limit must be 1 to 500"), ("limit=501", "limit must be"), ("limit=x", "limit must be"),
        ("limit=1&limit=2", "limit appears more than once"), ("after=a%20b", "after must be a user name"),
        ("after=", "after must be"), ("after=%FF", "not percent-encoded"),
    ])
    func anInvalidParameterIsNamed(query: String, detail: String) async throws {
        try await self.fixture.send(.get, "\(Paths.users)?\(query)", user: "ada").expectProblem(
            .invalidParameter,
            detail
        )
    }

    @Test(arguments: ["nobody", "a%20b", "%FF"])
    func anUnknownUserIsNotFound(name: String) async throws {
        try await self.fixture.send(.get, Paths.user(name), user: "ada").expectProblem(.notFound)
    }

    /// The path of a user with the name `.` or `..` would contain a dot segment, which the server
    /// refuses.
    @Test(arguments: [(".", false), ("..", false), ("...", true), (".a", true)])
    func aNameThatNoPathCanHaveIsRefused(name: String, isTaken: Bool) async throws {
        let body = #"{"Name":"\#(name)","Password":"seven of nine 42"}"#
        let response = try await self.fixture.send(.post, Paths.users, user: "ada", body: body)
        guard !isTaken else {
            #expect(response.status == .created)
            return
        }
        try response.expectProblem(.invalidMember, "Name must be \(Username.rule)")
    }

    // MARK: Passwords

    @Test(arguments: [
        ("Password", "Password: this password is too common"),
        ("Bobbybob", "Password: a password must not be the user name"),
    ])
    func aCommonPasswordIsRefused(password: String, detail: String) async throws {
        let body = #"{"Name":"bobbyBOB","Password":"\#(password)"}"#
        let response = try await self.fixture.send(.post, Paths.users, user: "ada", body: body)
        try response.expectProblem(.invalidMember, detail)
        try await self.fixture.storage.addUser("bobbybob")
        try await self.patch("bobbybob", #"{"Password":"\#(password)"}"#).expectProblem(.invalidMember, detail)
    }

    // MARK: Disabled

    @Test func aDisabledUserIsAnsweredLikeAnUnknownUser() async throws {
        let session = try await self.fixture.send(.post, Paths.sessions, user: "bob")
        let bearer = [("Authorization", "Bearer \(try #require(try session.json["Token"]?.text))")]
        let basic = [("Authorization", ServerFixture.basic("bob"))]
        for isDisabled in [true, false, true] {
            for loop in 0..<ServerFixture.loops {
                _ = try await (self.list(basic, loop: loop), self.list(bearer, loop: loop))
            }
            #expect(try await self.patch("BOB", #"{"Disabled":\#(isDisabled)}"#).status == .noContent)
            for loop in 0..<ServerFixture.loops {
                let answers = (try await self.list(basic, loop: loop), try await self.list(bearer, loop: loop))
                guard isDisabled else {
                    #expect(answers.0.status == .ok)
                    #expect(answers.1.status == .ok, "the token has slept")
                    continue
                }
                let nobody = try await self.list([("Authorization", ServerFixture.basic("nobody"))])
                #expect(answers.0.body == nobody.body)
                #expect(answers.0.fields == nobody.fields)
                let none = try await self.list([("Authorization", "Bearer \(BearerToken.random().text.exposed)")])
                #expect(answers.1.body == none.body)
                #expect(answers.1.fields == none.fields)
            }
        }
    }

    @Test func aDisabledUserWithAWrongPasswordIsUnauthorized() async throws {
        #expect(try await self.patch("bob", #"{"Disabled":true}"#).status == .noContent)
        let wrong = [("Authorization", ServerFixture.basic("bob", password: "wrong password"))]
        try await self.list(wrong).expectProblem(.unauthorized)
    }

    @Test func anOpenStreamOfADisabledUserIsInvalid() async throws {
        let alice = try await self.fixture.storage.user("alice")
        let (authenticator, reader) = (self.fixture.authenticator, self.fixture.storage.reader)
        let credentials: [Credentials] = [
            .basic(field: ServerFixture.basic("alice")), .certificate(name: "alice"), .identity(name: "alice"),
        ]
        for isDisabled in [false, true] {
            #expect(try await self.patch("alice", #"{"Disabled":\#(isDisabled)}"#).status == .noContent)
            for each in credentials {
                let isGood = try await authenticator.isStillGood(
                    Caller(alice),
                    by: each,
                    reader: reader,
                    now: self.fixture.clock.now
                )
                #expect(isGood == !isDisabled)
            }
        }
    }

    @Test func aDisabledUserStillReceivesNotifications() async throws {
        #expect(try await self.patch("bob", #"{"Disabled":true}"#).status == .noContent)
        let path = try await self.fixture.post(#"{"Payload":1,"To":["username:bob"]}"#)
        #expect(try await self.patch("bob", #"{"Disabled":false,"HasPassword":true}"#).status == .noContent)
        #expect(try await self.fixture.send(.get, path, user: "bob").status == .ok)
    }

    @Test(arguments: [
        (#"{"RequiresEncryption":"yes"}"#, "RequiresEncryption must"),
        (#"{"Disabled":1}"#, "Disabled must be true or false"), (#"{"Disabled":"true"}"#, "Disabled must"),
        (#"{"Disabled":null}"#, "Disabled must not be null"), (#"{"Password":null}"#, "Password must not be null"),
        (#"{"Role":null}"#, "Role must not be null"), (#"{"Apps":null}"#, "Apps must not be null"),
        (#"{"requiresEncryption":null}"#, "RequiresEncryption must not be null"),
    ])
    func anInvalidChangeIsNamed(body: String, detail: String) async throws {
        try await self.patch("bob", body).expectProblem(.invalidMember, detail)
    }

    @Test(arguments: ["RequiresEncryption", "Role"]) func nullMakesNoUser(member: String) async throws {
        let body = #"{"Name":"new","WithoutPassword":true,"\#(member)":null}"#
        let response = try await self.fixture.send(.post, Paths.users, user: "ada", body: body)
        try response.expectProblem(.invalidMember, "\(member) must not be null")
        #expect(try await self.fixture.send(.get, Paths.user("new"), user: "ada").status == .notFound)
    }

    // MARK: The last administrator

    @Test(arguments: [#"{"Disabled":true}"#, #"{"Role":"publisher"}"#, #"{"Role":"admin","Disabled":true}"#, nil])
    func theLastAdministratorCannotBeRemoved(body: String?) async throws {
        let change = {
            if let body { return try await self.patch("ada", body) }
            return try await self.fixture.send(.delete, Paths.user("ada"), user: "ada")
        }
        try await change().expectProblem(.lastAdministrator, "last enabled administrator")
        #expect(try await self.fixture.send(.get, Paths.users, user: "ada").status == .ok)
        try await self.fixture.storage.addUser("eve", role: .admin, ServerFixture.passwordHash)
        #expect(try await change().status == .noContent)
        #expect(try await self.fixture.send(.get, Paths.users, user: "ada").status != .ok)
        #expect(try await self.fixture.send(.get, Paths.users, user: "eve").status == .ok)
    }
}

import Foundation
import PushAPI
import PushCore
import PushStore
import PushTesting
import Testing

@testable import PushServer

/// The export of users as lines of text, and the import, which has an outcome for each line.
@Suite(.timeLimit(.minutes(5))) struct UserImportTests {
    private static let bank = AppName("bank") ?? .usual
    private let fixture: StoreFixture

    init() async throws {
        self.fixture = try StoreFixture(options: .withEvents)
        try await self.fixture.addUser("ada", role: .admin, ServerFixture.passwordHash)
    }

    private func line(_ text: String) throws(UserLineError) -> UserLine {
        try UserLine(Array(text.utf8), apps: [.usual, Self.bank])
    }

    private func users(takesHashes: Bool = false, isDry: Bool = false) throws -> UserImport {
        UserImport(
            store: self.fixture.store,
            reader: try self.fixture.store.makeReader(),
            parameters: ServerFixture.parameters ?? .usual,
            takesHashes: takesHashes,
            isDry: isDry,
            now: { Date() }
        )
    }

    private func apply(_ texts: String..., takesHashes: Bool = false, isDry: Bool = false) async throws -> [UserImport
        .Outcome]
    {
        var users = try self.users(takesHashes: takesHashes, isDry: isDry)
        var outcomes: [UserImport.Outcome] = []
        for text in texts { outcomes.append(try await users.apply(self.line(text))) }
        return outcomes
    }

    private func entry(_ name: String) async throws -> UserEntry? {
        try await self.fixture.store.makeReader().userEntry(named: #require(Username(name)))
    }

    @Test func aLineCreatesAUserOnceAndChangesTheNamedMembers() async throws {
        let full =
            #"{"Name":"bea","Role":"publisher","Apps":["bank"],"Tags":["Role:Nurse"],"Disabled":true,"RequiresEncryption":true}"#
        #expect(try await self.apply(full) == [.added])
        let user = try #require(try await self.entry("bea"))
        #expect(user.role == .publisher && user.apps == [Self.bank] && user.isDisabled && !user.hasPassword)
        #expect(user.requiresEncryption)
        #expect(user.tags.map(\.description) == ["role:nurse"])
        #expect(try await self.apply(full) == [.unchanged])
        #expect(try await self.apply(#"{"Name":"BEA"}"#) == [.unchanged])
        let changed = try await self.apply(
            #"{"Name":"bea","Disabled":false,"Tags":[],"Role":"device","RequiresEncryption":false}"#
        )
        #expect(changed == [.changed(["role device", "enabled", "encryption optional", "tags"])])
        let now = try #require(try await self.entry("bea"))
        #expect(now.role == .device && now.apps == [Self.bank] && !now.isDisabled && now.tags.isEmpty)
    }

    @Test func aDryRunReportsTheSameAndChangesNothing() async throws {
        let lines = (#"{"Name":"bea"}"#, #"{"Name":"ada","Tags":["x"]}"#, #"{"Name":"ada"}"#)
        let outcomes: [UserImport.Outcome] = [.added, .changed(["tags"]), .refused("ada has a line before")]
        #expect(try await self.apply(lines.0, lines.1, lines.2, isDry: true) == outcomes)
        #expect(try await self.entry("bea") == nil)
        #expect(try await self.entry("ada")?.tags.isEmpty == true)
        #expect(try await self.apply(lines.0, lines.1, lines.2) == outcomes)
    }

    @Test func hashesAreImportedOnRequestAndReplaceNoPassword() async throws {
        let phc = ServerFixture.passwordHash.phc
        let line = #"{"Name":"bea","PasswordHash":"\#(phc)"}"#
        guard case .refused(let reason) = try await self.apply(line)[0] else {
            Issue.record("a hash was taken")
            return
        }
        #expect(reason.contains("--with-hashes"))
        #expect(try await self.apply(line, takesHashes: true) == [.added])
        let reader = try self.fixture.store.makeReader()
        let name = try #require(Username("bea"))
        let bea = try #require(try await reader.user(named: name))
        #expect(try await reader.password(of: bea) == ServerFixture.passwordHash)
        #expect(try await self.apply(line, takesHashes: true) == [.unchanged])
        let other = try PasswordHash(of: "another: pass: word", parameters: #require(ServerFixture.parameters))
        let again = #"{"Name":"bea","PasswordHash":"\#(other.phc)"}"#
        #expect(try await self.apply(again, takesHashes: true) == [.unchanged])
        #expect(try await reader.password(of: bea) == ServerFixture.passwordHash)
    }

    @Test func theLastAdministratorStays() async throws {
        for change in [#""Role":"device""#, #""Disabled":true"#] {
            guard case .refused(let reason) = try await self.apply(#"{"Name":"ada",\#(change)}"#)[0] else {
                Issue.record("the last administrator has gone")
                return
            }
            #expect(reason.contains("last enabled administrator"))
        }
    }

    @Test func exportedUsersCanBeImportedElsewhere() async throws {
        let lines = [
            #"{"Name":"bea","Role":"publisher","Apps":["bank","default"],"Tags":["a","b"]}"#,
            #"{"Name":"cid","Disabled":true}"#,
            #"{"Name":"dan#1","PasswordHash":"\#(ServerFixture.passwordHash.phc)"}"#,
        ]
        #expect(try await self.apply(lines[0], lines[1], lines[2], takesHashes: true) == [.added, .added, .added])
        let reader = try self.fixture.store.makeReader()
        let elsewhere = try StoreFixture(options: .withEvents)
        var users = UserImport(
            store: elsewhere.store,
            reader: elsewhere.reader,
            parameters: try #require(ServerFixture.parameters),
            takesHashes: true,
            isDry: false,
            now: { Date() }
        )
        for user in try await reader.users(after: nil, limit: 10) {
            let known = try #require(try await reader.user(named: user.name))
            let text = UserLine.text(of: user, hash: try await reader.password(of: known))
            #expect(try await users.apply(UserLine(text, apps: [.usual, Self.bank])) == .added)
            let copy = try #require(try await elsewhere.reader.userEntry(named: user.name))
            #expect(copy.role == user.role && copy.apps == user.apps && copy.tags == user.tags)
            #expect(copy.isDisabled == user.isDisabled && copy.hasPassword == user.hasPassword)
            #expect(copy.requiresEncryption == user.requiresEncryption)
            #expect(copy.name.description == user.name.description)
            let shown = String(decoding: UserLine.text(of: user, hash: nil), as: UTF8.self)
            #expect(!shown.contains("argon2id"))
        }
    }

    @Test func everyChangeIsInTheAudit() async throws {
        _ = try await self.apply(#"{"Name":"bea","Tags":["x"],"Disabled":true}"#)
        let entries = try await self.fixture.reader.auditEntries(before: nil, limit: 10)
        #expect(
            entries.map { "\($0.action) \($0.subject) \($0.detail)" }.reversed() == [
                "user.add bea device", "user.change bea disabled", "user.tags bea added x",
            ]
        )
    }

    @Test(arguments: [
        ("", "JSON"), ("[]", "object"), ("{}", "Name"), (#"{"name":"x"}"#, "not known"), (#"{"Name":"x y"}"#, "Name"),
        (#"{"Name":".."}"#, "Name"), (#"{"Name":"x","Rolle":"admin"}"#, "Rolle"),
        (#"{"Name":"x","Role":"boss"}"#, "Role"),
        (#"{"Name":"x","Role":null}"#, "Role"), (#"{"Name":"x","Name":"y"}"#, "twice"),
        (#"{"Name":"x","Apps":"bank"}"#, "Apps"),
        (#"{"Name":"x","Apps":["shop"]}"#, "shop"), (#"{"Name":"x","Tags":[1]}"#, "Tags"),
        (#"{"Name":"x","Tags":["a b"]}"#, "Tags"),
        (#"{"Name":"x","RequiresEncryption":1}"#, "RequiresEncryption must be true or false"),
        (#"{"Name":"x","Tags":["username:y"]}"#, "only the server"), (#"{"Name":"x","Disabled":1}"#, "Disabled"),
        (#"{"Name":"x","PasswordHash":"secret"}"#, "PasswordHash"),
        (#"{"Name":"x","PasswordHash":null}"#, "PasswordHash"),
        (#"{"Name":"x","PasswordHash":"$2b$12$abcdefghijklmnopqrstuv"}"#, "PasswordHash"),
        (#"{"Name":"x","PasswordHash":"$argon2id$v=19$m=99999999,t=1,p=1$c2VhbHBvc3Q$c2VhbHBvc3Q"}"#, "PasswordHash"),
    ])
    func anInvalidLineIsRefusedWithTheReason(text: String, word: String) throws {
        do throws(UserLineError) {
            _ = try self.line(text)
            Issue.record("was taken: \(text)")
        } catch {
            #expect(error.description.contains(word), "\(error)")
        }
    }

    @Test func aLineHasLimits() throws {
        let tags = (0...60).map { "\"t\($0)\"" }.joined(separator: ",")
        #expect(throws: UserLineError.self) { try self.line(#"{"Name":"x","Tags":[\#(tags)]}"#) }
        #expect(throws: UserLineError.self) { try self.line(#"{"Name":"x"}"# + String(repeating: " ", count: 65_536)) }
    }
}

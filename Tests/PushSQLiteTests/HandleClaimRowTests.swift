import Foundation
import Migrations
import PushCore
import PushStore
import PushTesting
import SQLite
import Testing

@testable import PushSQLite

/// The database's rows about claims (unconfirmed registrations of handles) and their codes.
@Suite(.timeLimit(.minutes(5))) struct HandleClaimRowTests {
    private let keyring = Keyring.generateText()
    private let fixture: StoreFixture
    private let alice: User
    private let bob: User

    init() async throws {
        self.fixture = try StoreFixture(keyring: self.keyring)
        self.alice = try await self.fixture.addUser("alice")
        self.bob = try await self.fixture.addUser("bob")
    }

    private func claim(_ id: String, _ handle: String, of user: User, confirmation: Int64) async throws {
        try await self.fixture.issue(id, to: user)
        let platform = Platform("hook")
        let registration = DeviceRegistration(
            platform: platform,
            lane: Lane(platform),
            handle: try #require(DeviceHandle(handle)),
            tags: [try #require(Tag("a-plain-tag"))],
            confirmation: NotificationID(rawValue: confirmation)
        )
        let outcome = try await self.fixture.store.register(
            registration,
            as: #require(RegistrationID(id)),
            for: user,
            now: self.fixture.now
        )
        #expect(outcome == .unconfirmed(hasWork: true))
    }

    private func confirm(_ id: String, _ code: String, of user: User) async throws -> RegisterOutcome {
        try await self.fixture.store.confirm(
            code,
            for: #require(RegistrationID(id)),
            of: user,
            with: nil,
            by: nil,
            within: nil,
            now: self.fixture.now
        )
    }

    private func leasedCode() async throws -> String {
        try #require(try await self.fixture.lease("hook").compactMap(\.push.confirmation).first).exposed
    }

    private func count(_ sql: String) async throws -> Int? {
        try await self.fixture.sqlite.writer.write { try Int.fetchOne($0, sql: "select count(*) from \(sql)") }
    }

    @Test func databaseContainsNoCode() async throws {
        try await self.claim("b", "a-plain-handle", of: self.bob, confirmation: 1)
        let code = try await self.leasedCode()
        let bytes = Data(
            stride(from: 0, to: code.count, by: 2).compactMap { index in
                UInt8(code.dropFirst(index).prefix(2), radix: 16)
            }
        )
        #expect(bytes.count == 16)
        let look = {
            let contents = try self.fixture.folder.contents()
            #expect(contents.range(of: Data("hook".utf8)) != nil, "what is in clear is found")
            for secret in [Data(code.utf8), bytes, Data("a-plain-handle".utf8), Data("a-plain-tag".utf8)] {
                #expect(contents.range(of: secret) == nil)
            }
        }
        try look()
        #expect(try await self.confirm("b", code, of: self.bob) == .registered(moved: 0))
        try look()
    }

    /// With another secret, the same rows give another code. A thief without the keyring cannot
    /// decrypt the secret, and so cannot compute a code.
    @Test func codeCannotBeComputedFromItsRows() async throws {
        try await self.claim("b", "x", of: self.bob, confirmation: 1)
        let code = try await self.leasedCode()
        let (seed, key) = try await self.fixture.sqlite.writer.write { db in
            (
                try #require(try Int64.fetchOne(db, sql: "select seed from notification where id = 1")),
                try #require(try Data.fetchOne(db, sql: "select handle_key from confirmation"))
            )
        }
        func computed(_ secret: IndexSecret) -> String {
            ConfirmationCodes(secret).code(of: 1, seed: seed, claim: key).exposed
        }
        #expect(computed(self.fixture.store.indexSecret) == code)
        #expect(computed(IndexSecret()) != code)
    }

    @Test func claimsOfOneHandleHaveNothingInCommonWithItsRegistration() async throws {
        try await self.claim("a", "x", of: self.alice, confirmation: 1)
        #expect(try await self.confirm("a", self.leasedCode(), of: self.alice) == .registered(moved: 0))
        try await self.claim("a2", "y", of: self.alice, confirmation: 2)
        try await self.claim("b", "x", of: self.bob, confirmation: 3)
        let keys = try await self.fixture.sqlite.writer.write {
            try Data.fetchAll($0, sql: "select handle_key from device where handle_key is not null")
        }
        #expect(keys.count == 3)
        #expect(Set(keys).count == 3)
        #expect(
            try await self.count("device_tag where device in (select number from device where claims_for > 0)") == 0
        )
    }

    @Test(arguments: [true, false])
    func claimLeavesNoRows(isConfirmed: Bool) async throws {
        try await self.claim("b", "x", of: self.bob, confirmation: 1)
        let code = try await self.leasedCode()
        if isConfirmed { #expect(try await self.confirm("b", code, of: self.bob) == .registered(moved: 0)) }
        let late = self.fixture.now + 3600
        while try await self.fixture.store.deleteExpired(now: late, page: 10) {}
        while try await self.fixture.store.deleteExpiredClaims(now: late, limit: 10) > 0 {}
        for table in ["device where claims_for is not null", "confirmation", "notification", "push"] {
            #expect(try await self.count(table) == 0, "\(table)")
        }
        #expect(try await self.fixture.reader.devices(ofUser: self.bob.id).count == (isConfirmed ? 1 : 0))
        let counts = try #require(try await self.fixture.reader.tallies()["hook"])
        #expect(counts.pending == 0)
    }

    @Test func registrationsOfAnEarlierSchemaAreConfirmed() async throws {
        let (folder, name) = (try TemporaryFolder(), try #require(Username("carol")))
        let (keyring, handle) = (try Keyring(text: self.keyring), try #require(DeviceHandle("x")))
        let connection = try Connection(path: folder.file("test.db"))
        try connection.exclusively { db in
            try Schema.prepare(db, Migration.all.filter { $0.name < "M0005" })
            let sealing = try Sealing(db, keyring, now: self.fixture.now)
            try db.run(
                """
                insert into user (id, name, name_key, role, password, created_at) values (1, ?, ?, 'device', '', 0)
                """,
                try sealing.seal("carol", in: .username(1)),
                sealing.index.hash(name)
            )
            try db.run(
                """
                insert into device (number, id, user_id, platform, lane, handle, handle_key, tags, created_at,
                    registered_at) values (1, 'old', 1, 'hook', 'hook', ?, ?, ?, 0, 0)
                """,
                try sealing.seal("x", in: .handle(1)),
                sealing.index.hash(handle),
                try sealing.seal(["username:carol"], in: .tags(1))
            )
        }
        try connection.close()

        let fixture = try StoreFixture(in: folder, keyring: self.keyring)
        let carol = try await fixture.user("carol")
        let registration = DeviceRegistration(
            platform: Platform("hook"),
            lane: Lane(Platform("hook")),
            handle: handle,
            tags: [],
            confirmation: NotificationID(rawValue: 1)
        )
        let id = try #require(RegistrationID("old"))
        #expect(try await fixture.reader.devices(ofUser: carol.id).map(\.id) == [id])
        let outcome = try await fixture.store.register(registration, as: id, for: carol, now: self.fixture.now)
        #expect(outcome == .registered(moved: 0))
        #expect(try await fixture.lease("hook").isEmpty)
        await fixture.store.close()
    }

    @Test func claimIsReencryptedWithItsKey() async throws {
        try await self.claim("b", "x", of: self.bob, confirmation: 1)
        let code = try await self.leasedCode()
        let both = try Keyring.addingKey(to: self.keyring).text
        #expect(try await self.fixture.store.replaceKeyring(Keyring(text: both), now: self.fixture.now))
        #expect(try await self.fixture.store.rewrap()?.unused == [1])
        await self.fixture.store.close()

        let next = try StoreFixture(in: self.fixture.folder, keyring: Keyring.removingKey(1, from: both))
        let outcome = try await next.store.confirm(
            code,
            for: #require(RegistrationID("b")),
            of: self.bob,
            with: nil,
            by: nil,
            within: nil,
            now: next.now
        )
        #expect(outcome == .registered(moved: 0))
        #expect(try await next.reader.devices(ofUser: self.bob.id).map(\.handle.value) == ["x"])
        await next.store.close()
    }
}

import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

/// Changes of users in the store.
@Suite(.eachStore, .timeLimit(.minutes(5))) struct AccountTests {
    private let fixture: StoreFixture

    init() throws {
        self.fixture = try StoreFixture()
    }

    private func change(_ name: String, role: Role? = nil, isDisabled: Bool? = nil) async throws -> UserChange {
        let name = try #require(Username(name))
        return try await self.fixture.store.changeUser(
            name,
            role: role,
            apps: nil,
            password: nil,
            isDisabled: isDisabled,
            by: nil,
            now: self.fixture.now
        )
    }

    private func session(of user: User) async throws -> BearerToken? {
        let now = self.fixture.now
        return try await self.fixture.store.addSession(for: user, scopes: .all, expiresAt: now + 60, now: now)?.token
    }

    private func isGood(_ token: BearerToken) async throws -> Bool {
        try await self.fixture.reader.user(withToken: token.fingerprint, now: self.fixture.now) != nil
    }

    @Test func aStoreHasUsersFromTheFirstToTheLast() async throws {
        #expect(try await !self.fixture.reader.hasUsers())
        let name = try await self.fixture.addUser("alice").name
        #expect(try await self.fixture.reader.hasUsers())
        _ = try await self.fixture.store.deleteUser(name, by: nil)
        #expect(try await !self.fixture.reader.hasUsers())
    }

    // MARK: Passwords

    @Test func usersOwnPasswordChangeEndsSessionsAndHappensOnce() async throws {
        let alice = try await self.fixture.addUser("alice")
        let token = try #require(try await self.session(of: alice))
        #expect(try await self.fixture.store.changePassword(of: alice, to: PasswordHash(phc: "first")))
        #expect(try await !self.isGood(token))
        #expect(try await !self.fixture.store.changePassword(of: alice, to: PasswordHash(phc: "second")))
        #expect(try await self.fixture.reader.password(of: self.fixture.user("alice"))?.phc == "first")
    }

    // MARK: Roles

    @Test(arguments: [
        (Role.device, Role.device, true), (.device, .publisher, false), (.device, .admin, false),
        (.publisher, .admin, false), (.publisher, .publisher, true), (.publisher, .device, true),
        (.admin, .publisher, true), (.device, .viewer, false), (.publisher, .viewer, false),
        (.viewer, .publisher, false), (.viewer, .device, true), (.admin, .viewer, true),
    ])
    func aSessionEndsWhenTheRoleRises(from old: Role, to new: Role, isGood: Bool) async throws {
        try await self.fixture.addUser("ada", role: .admin)
        let alice = try await self.fixture.addUser("alice", role: old)
        let bob = try await self.fixture.addUser("bob", role: old)
        let (session, other) = (try await self.session(of: alice), try await self.session(of: bob))
        let given = try await self.fixture.store.addToken(
            for: alice.name,
            scopes: .fetch,
            expiresAt: self.fixture.now + 60,
            by: nil,
            now: self.fixture.now
        )
        #expect(try await self.change("alice", role: new) == .done)
        #expect(try await self.isGood(#require(session)) == isGood)
        #expect(try await self.isGood(#require(other)), "another user's")
        #expect(try await self.isGood(#require(given)), "given by an administrator")
    }

    // MARK: Disabling

    @Test func tokensOfADisabledUserAreInactive() async throws {
        let alice = try await self.fixture.addUser("alice")
        let token = try #require(try await self.session(of: alice))
        #expect(try await self.change("Alice", isDisabled: true) == .done)
        #expect(try await !self.isGood(token))
        #expect(try await self.fixture.user("alice").isDisabled)
        #expect(try await self.session(of: alice) == nil)
        #expect(try await self.change("alice", isDisabled: true) == .done, "again")
        #expect(try await self.change("alice", role: .device) == .done, "which enables nobody")
        #expect(try await !self.isGood(token))
        #expect(try await self.change("ALICE", isDisabled: false) == .done)
        #expect(try await self.isGood(token))
        #expect(try await self.session(of: alice) != nil)
    }

    // MARK: The last administrator

    @Test(arguments: [
        (Role?.some(.device), Bool?.none), (.some(.publisher), nil), (nil, .some(true)), (.some(.admin), .some(true)),
    ])
    func lastAdministratorKeepsTheRole(role: Role?, isDisabled: Bool?) async throws {
        try await self.fixture.addUser("ada", role: .admin)
        try await self.fixture.addUser("alice")
        try await self.fixture.addUser("asleep", role: .admin)
        #expect(try await self.change("asleep", isDisabled: true) == .done)
        let ada = try await self.fixture.user("ada")
        #expect(try await self.change("ada", role: role, isDisabled: isDisabled) == .lastAdministrator)
        #expect(try await self.fixture.store.deleteUser(ada.name) == .lastAdministrator)
        #expect(try await self.fixture.user("ada") == ada)
        #expect(try await self.change("asleep", isDisabled: false) == .done)
        #expect(try await self.change("ada", role: role, isDisabled: isDisabled) == .done)
        #expect(try await self.change("asleep", isDisabled: true) == .lastAdministrator)
    }

    @Test func otherUserMayBeDeletedWithoutAnAdministrator() async throws {
        let alice = try await self.fixture.addUser("alice")
        #expect(try await self.change("alice", role: .device, isDisabled: true) == .done)
        #expect(try await self.fixture.store.deleteUser(alice.name) == .done)
        #expect(try await self.change("alice", isDisabled: true) == .missing)
    }

    @Test func aChangeThatIsRefusedChangesNothingElse() async throws {
        let ada = try await self.fixture.addUser("ada", role: .admin)
        let (store, now) = (self.fixture.store, self.fixture.now)
        let hash = PasswordHash(phc: "new")
        let outcome = try await store.changeUser(
            ada.name,
            role: .device,
            apps: nil,
            password: hash,
            isDisabled: nil,
            by: nil,
            now: now
        )
        #expect(outcome == .lastAdministrator)
        #expect(try await self.fixture.reader.password(of: ada)?.phc == "none")
    }

    // MARK: Lists

    @Test func usersAreListedPageByPage() async throws {
        for name in ["bob", "Alice", "carol", "dave"] { try await self.fixture.addUser(name) }
        #expect(try await self.change("carol", isDisabled: true) == .done)
        var (listed, last): ([UserEntry], Username?) = ([], nil)
        repeat {
            let page = try await self.fixture.reader.users(after: last, limit: 3)
            listed += page
            last = page.count == 3 ? page.last?.name : nil
        } while last != nil
        #expect(Set(listed.map(\.name.description)) == ["Alice", "bob", "carol", "dave"])
        #expect(listed.count == 4)
        #expect(listed.filter(\.isDisabled).map(\.name.description) == ["carol"])
        let entry = try #require(listed.first { $0.name.key == "alice" })
        #expect(try await self.fixture.reader.userEntry(named: entry.name) == entry)
    }
}

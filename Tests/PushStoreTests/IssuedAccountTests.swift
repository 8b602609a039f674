import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

/// Accounts of users who sign in with tokens of an issuer.
@Suite(.eachStore, .timeLimit(.minutes(5))) struct IssuedAccountTests {
    private static let (alice, mallory) = (Data(repeating: 1, count: 16), Data(repeating: 2, count: 16))

    private let fixture: StoreFixture

    init() throws {
        self.fixture = try StoreFixture()
    }

    private func token(
        _ seconds: TimeInterval,
        of owner: Data = Self.alice,
        _ rights: IssuedRights = IssuedRights(role: nil, apps: nil, scopes: nil),
        formerly former: Set<Data> = []
    ) -> IssuedToken {
        IssuedToken(
            IssuedAccount(owner: owner, issuedAt: self.fixture.now + seconds, rights: rights),
            formerOwners: former
        )
    }

    private func take(_ token: IssuedToken, role: Role? = nil) async throws -> UserChange {
        try await self.fixture.store.changeUser(
            #require(Username("alice")),
            role: role,
            apps: nil,
            password: nil,
            isDisabled: nil,
            issued: token,
            by: nil,
            now: self.fixture.now
        )
    }

    private func stored() async throws -> IssuedAccount? {
        try await self.fixture.reader.issuedAccount(of: self.fixture.user("alice"))
    }

    @Test(arguments: [
        IssuedRights(role: nil, apps: nil, scopes: nil),
        IssuedRights(role: .publisher, apps: [.usual], scopes: [.fetch, .manage]),
        IssuedRights(role: .admin, apps: Set([AppName("bank"), AppName("shop")].compactMap(\.self)), scopes: []),
    ])
    func rightsOfATokenAreStored(rights: IssuedRights) async throws {
        try await self.fixture.addUser("alice")
        #expect(try await self.stored() == nil)
        let token = self.token(0.001, rights)
        #expect(try await self.take(token) == .done)
        #expect(try await self.stored() == token.account)
    }

    @Test func anOlderTokenChangesNothing() async throws {
        try await self.fixture.addUser("alice")
        #expect(try await self.take(self.token(10)) == .done)
        #expect(try await self.take(self.token(9.999), role: .admin) == .missing)
        #expect(try await self.fixture.user("alice").role == .device)
        #expect(try await self.stored() == self.token(10).account)
        for seconds in [10.0, 11] {
            #expect(try await self.take(self.token(seconds), role: .publisher) == .done)
            #expect(try await self.stored() == self.token(seconds).account)
        }
        #expect(try await self.fixture.user("alice").role == .publisher)
    }

    @Test func anotherOwnersTokenChangesNothing() async throws {
        try await self.fixture.addUser("alice")
        #expect(try await self.take(self.token(0)) == .done)
        #expect(try await self.take(self.token(1, of: Self.mallory), role: .admin) == .missing)
        #expect(try await self.fixture.user("alice").role == .device)
        #expect(try await self.stored() == self.token(0).account)
        let moved = self.token(2, of: Self.mallory, formerly: [Self.alice])
        #expect(try await self.take(moved) == .done)
        #expect(try await self.stored() == moved.account)
        #expect(try await self.take(self.token(3)) == .missing)
    }

    @Test func newestOfConcurrentTokensWins() async throws {
        try await self.fixture.addUser("alice")
        try await withThrowingTaskGroup { group in
            for number in 0..<20 {
                let token = self.token(TimeInterval(number * 7 % 20))
                group.addTask { _ = try await self.take(token) }
            }
            try await group.waitForAll()
        }
        #expect(try await self.stored() == self.token(19).account)
    }

    @Test func theLastAdministratorsTokenIsStoredWithoutTheRole() async throws {
        try await self.fixture.addUser("alice", role: .admin)
        let token = self.token(0, IssuedRights(role: .device, apps: nil, scopes: nil))
        #expect(try await self.take(token, role: .device) == .lastAdministrator)
        #expect(try await self.stored() == nil)
        #expect(try await self.take(token) == .done)
        #expect(try await self.stored() == token.account)
    }

    @Test func recreatedUserHasNoIssuedAccount() async throws {
        let name = try await self.fixture.addUser("alice").name
        #expect(try await self.take(self.token(0)) == .done)
        _ = try await self.fixture.store.deleteUser(name, by: nil)
        #expect(try await self.take(self.token(1)) == .missing)
        try await self.fixture.addUser("alice")
        #expect(try await self.stored() == nil)
    }
}

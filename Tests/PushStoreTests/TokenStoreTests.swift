import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

@Suite(.eachStore, .timeLimit(.minutes(5))) struct TokenStoreTests {
    private let fixture: StoreFixture
    private let alice: User

    init() async throws {
        self.fixture = try StoreFixture()
        self.alice = try await self.fixture.addUser("alice")
    }

    private func addSession(
        for user: User? = nil,
        scopes: Scopes = [.fetch, .send],
        lifetime: TimeInterval = 1000
    ) async throws -> NewSession {
        let session = try await self.fixture.store.addSession(
            for: user ?? self.alice,
            scopes: scopes,
            expiresAt: self.fixture.now + lifetime,
            now: self.fixture.now
        )
        return try #require(session)
    }

    private func addToken(for name: String = "alice") async throws -> BearerToken {
        let token = try await self.fixture.store.addToken(
            for: #require(Username(name)),
            scopes: .fetch,
            expiresAt: self.fixture.now + 1000,
            now: self.fixture.now
        )
        return try #require(token)
    }

    private func user(with token: BearerToken) async throws -> User? {
        try await self.fixture.reader.user(withToken: token.fingerprint, now: self.fixture.now)?.user
    }

    private func list(of user: String? = nil) async throws -> [TokenEntry] {
        try await self.fixture.reader.tokens(
            of: user.flatMap(Username.init),
            after: nil,
            limit: 1000,
            now: self.fixture.now
        )
    }

    @Test func aTokenStandsForItsUserUntilItExpires() async throws {
        let token = try await self.addSession().token
        let found = try #require(
            try await self.fixture.reader.user(withToken: token.fingerprint, now: self.fixture.now)
        )
        #expect(found.user == self.alice)
        #expect(found.grant.prefix == token.prefix)
        #expect(found.grant.scopes == [.fetch, .send])
        #expect(found.grant.expiresAt == self.fixture.now + 1000)
        #expect(found.grant.usedAt == nil)
        #expect(try await self.user(with: .random()) == nil)
        self.fixture.clock.advance(by: 999.999)
        #expect(try await self.user(with: token) == self.alice)
        self.fixture.clock.advance(by: 0.001)
        #expect(try await self.user(with: token) == nil)
        #expect(try await self.list().isEmpty)
    }

    @Test func databaseDoesNotContainTheToken() async throws {
        let tokens = [try await self.addSession().token, try await self.addToken()]
        for bytes in try self.fixture.bytesAtRest() {
            for token in tokens {
                // The database may contain the token's prefix, so the test searches for a longer
                // part of the token.
                let secret = token.text.exposed.dropFirst(token.prefix.description.utf8.count - 4)
                #expect(bytes.range(of: Data(secret.utf8)) == nil)
            }
        }
    }

    @Test func aRevokedTokenIsGoneAndNoOther() async throws {
        let (token, other) = (try await self.addSession().token, try await self.addSession().token)
        #expect(try await self.fixture.store.revokeToken(token.prefix) == token.fingerprint)
        #expect(try await self.fixture.store.revokeToken(token.prefix) == nil)
        #expect(try await self.user(with: token) == nil)
        #expect(try await self.user(with: other) == self.alice)
    }

    @Test func newPasswordEndsSessionsAndKeepsOtherTokens() async throws {
        let bob = try await self.fixture.addUser("bob")
        let (session, given) = (try await self.addSession().token, try await self.addToken())
        let bobs = try await self.addSession(for: bob).token
        let hash = PasswordHash(phc: "new")
        #expect(
            try await self.fixture.store.changeUser(self.alice.name, password: hash, now: self.fixture.now) == .done
        )
        #expect(try await self.user(with: session) == nil)
        #expect(try await self.user(with: given)?.id == self.alice.id)
        #expect(try await self.user(with: bobs) == bob)
        #expect(try await self.fixture.reader.password(of: self.alice) == nil, "as it was read before the change")
        #expect(try await self.fixture.reader.password(of: self.fixture.user("alice")) == hash)
    }

    @Test func signInWithTheOldPasswordGetsNoSession() async throws {
        let hash = PasswordHash(phc: "new")
        _ = try await self.fixture.store.changeUser(self.alice.name, password: hash, now: self.fixture.now)
        let (now, store) = (self.fixture.now, self.fixture.store)
        #expect(try await store.addSession(for: self.alice, scopes: .all, expiresAt: now + 9, now: now) == nil)
        let user = try await self.fixture.user("alice")
        #expect(try await store.addSession(for: user, scopes: .all, expiresAt: now + 9, now: now) != nil)
    }

    @Test func aTokenHasTheNewRoleOfItsUser() async throws {
        let (now, store) = (self.fixture.now, self.fixture.store)
        let given = try await store.addToken(
            for: self.alice.name,
            scopes: .send,
            expiresAt: now + 9,
            by: nil,
            now: now
        )
        #expect(try await store.changeUser(self.alice.name, role: .publisher, now: now) == .done)
        #expect(try await self.user(with: #require(given))?.role == .publisher)
    }

    @Test func allTokensOfADeletedUserEnd() async throws {
        let tokens = [try await self.addSession().token, try await self.addToken()]
        #expect(try await self.fixture.store.deleteUser(self.alice.name) == .done)
        #expect(try await self.fixture.store.deleteUser(self.alice.name) == .missing)
        #expect(
            try await self.fixture.store.changeUser(self.alice.name, role: .admin, now: self.fixture.now) == .missing
        )
        for token in tokens { #expect(try await self.user(with: token) == nil) }
        let name = self.alice.name
        #expect(
            try await self.fixture.store.addToken(for: name, scopes: .all, expiresAt: .distantFuture, now: Date())
                == nil
        )
    }

    @Test func sessionAboveTheLimitEndsTheOldest() async throws {
        let (given, bob) = (try await self.addToken(), try await self.fixture.addUser("bob"))
        let bobs = try await self.addSession(for: bob).token
        var sessions: [BearerToken] = []
        for _ in 0..<NewSession.maximumCount {
            let session = try await self.addSession()
            #expect(session.ended.isEmpty)
            sessions.append(session.token)
            self.fixture.clock.advance(by: 0.001)
        }
        #expect(try await self.addSession().ended == [sessions[0].fingerprint])
        #expect(try await self.user(with: sessions[0]) == nil)
        #expect(try await self.user(with: sessions[1]) == self.alice)
        for token in [given, bobs] { #expect(try await self.user(with: token) != nil) }
        #expect(try await self.list().count == NewSession.maximumCount + 2)
    }

    @Test func sessionWithTheLowestHashEndsFirstAtTheSameTime() async throws {
        var sessions: [Fingerprint] = []
        for _ in 0..<NewSession.maximumCount { sessions.append(try await self.addSession().token.fingerprint) }
        let lowest = try #require(sessions.min { $0.bytes.lexicographicallyPrecedes($1.bytes) })
        #expect(try await self.addSession().ended == [lowest])
    }

    @Test func listsGoByPrefixAPageAtATime() async throws {
        try await self.fixture.addUser("bob")
        var prefixes: [String] = []
        for number in 0..<7 {
            prefixes.append(try await self.addToken(for: number < 5 ? "alice" : "bob").prefix.description)
        }
        var listed: [TokenEntry] = []
        while true {
            let last = listed.last?.prefix
            let page = try await self.fixture.reader.tokens(of: nil, after: last, limit: 3, now: self.fixture.now)
            if page.isEmpty { break }
            listed += page
        }
        #expect(listed.map(\.prefix.description) == prefixes.sorted())
        #expect(try await self.list(of: "BOB").map(\.prefix.description) == prefixes[5...].sorted())
        #expect(try await self.list(of: "carol").isEmpty)
    }

    @Test func usesAreWrittenLaterAndTogether() async throws {
        let tokens = [try await self.addToken(), try await self.addToken(), try await self.addToken()]
        for token in tokens.dropLast() { self.fixture.store.tokenUses.record(token.prefix, now: self.fixture.now) }
        self.fixture.store.tokenUses.record(tokens[0].prefix, now: self.fixture.now + 5)
        #expect(try await self.list().allSatisfy { $0.usedAt == nil })
        #expect(try await self.fixture.store.writeTokenUses(limit: 10) == 2)
        #expect(try await self.fixture.store.writeTokenUses(limit: 10) == 0)
        let uses = Dictionary(uniqueKeysWithValues: try await self.list().map { ($0.prefix, $0.usedAt) })
        #expect(uses[tokens[0].prefix] == self.fixture.now + 5)
        #expect(uses[tokens[1].prefix] == self.fixture.now)
        #expect(uses[tokens[2].prefix] == Date?.none)
    }

    @Test func expiredTokensAreDeletedUpToALimit() async throws {
        for lifetime in [10.0, 20, 20, 30] { _ = try await self.addSession(lifetime: lifetime) }
        #expect(try await self.fixture.store.deleteExpiredTokens(now: self.fixture.now + 20, limit: 2) == 2)
        #expect(try await self.fixture.store.deleteExpiredTokens(now: self.fixture.now + 20, limit: 2) == 1)
        #expect(try await self.fixture.store.deleteExpiredTokens(now: self.fixture.now + 20, limit: 2) == 0)
        #expect(try await self.list().count == 1)
    }
}

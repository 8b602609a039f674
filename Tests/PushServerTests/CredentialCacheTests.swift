import Foundation
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

@Suite(.timeLimit(.minutes(5))) struct CredentialCacheTests {
    private let cache = CredentialCache()
    private let key: CredentialCache.Key
    private let start = Date(timeIntervalSince1970: 1_800_000_000)
    private let storage: StoreFixture
    private let alice: Caller
    private let bob: Caller

    init() async throws {
        self.key = self.cache.key(ofBasic: "Basic YTpi", from: nil)
        self.storage = try StoreFixture()
        self.alice = Caller(try await self.storage.addUser("alice"))
        self.bob = Caller(try await self.storage.addUser("bob"))
    }

    private func remember(_ caller: Caller? = nil, for key: CredentialCache.Key? = nil, since epoch: Int? = nil) {
        let key = key ?? self.key
        let epoch = epoch ?? self.cache.epoch(of: key)
        self.cache.remember(caller ?? self.alice, for: key, since: epoch, now: self.start)
    }

    private func isFound(_ key: CredentialCache.Key? = nil, at time: Date? = nil) -> Bool {
        self.cache.caller(for: key ?? self.key, now: time ?? self.start) != nil
    }

    /// Each row has the seconds between consecutive lookups of a cached entry, and whether the
    /// last lookup finds the entry.
    @Test(arguments: [
        ([0], true), ([149], true), ([151], true), ([299], true), ([301], false), ([100_000], false),
        ([149, 150, 150], false), ([100, 100, 99], true), ([-100_000], true),
    ])
    func anEntryLivesForOneToTwoHalfLives(steps: [TimeInterval], isFound: Bool) {
        self.remember()
        var time = self.start
        var caller: Caller?
        for step in steps {
            time += step
            caller = self.cache.caller(for: self.key, now: time)
        }
        #expect(caller?.user == (isFound ? self.alice.user : nil))
    }

    @Test func anEntryLivesNoLongerThanItsToken() async throws {
        let session = try await self.storage.store.addSession(
            for: self.alice.user,
            scopes: .all,
            expiresAt: self.start + 10,
            now: self.start
        )
        let fingerprint = try #require(session?.token.fingerprint)
        let found = try #require(try await self.storage.reader.user(withToken: fingerprint, now: self.start))
        let key = self.cache.key(of: fingerprint)
        self.remember(Caller(found.user, token: found.grant), for: key)
        #expect(self.isFound(key, at: self.start + 9.999))
        #expect(!self.isFound(key, at: self.start + 10))
    }

    @Test func otherCredentialsAndAddressesFindNoEntry() throws {
        self.remember()
        for other in ["Basic YTpj", "basic YTpi", "", "Basic YTpi "] {
            #expect(!self.isFound(self.cache.key(ofBasic: other, from: nil)))
        }
        let address = PeerAddress.ip(try #require(IPAddress("203.0.113.7")))
        #expect(!self.isFound(self.cache.key(ofBasic: "Basic YTpi", from: address)))
    }

    @Test(arguments: [0, 151])
    func allEntriesOfAUserAreEvictedAndNoOthers(age: TimeInterval) {
        let tokens = (0..<64).map { self.cache.key(of: Fingerprint(of: "token \($0)")) }
        for (number, token) in tokens.enumerated() {
            self.remember(number.isMultiple(of: 2) ? self.alice : self.bob, for: token)
        }
        let now = self.start + age
        #expect(tokens.allSatisfy { self.isFound($0, at: now) })
        self.cache.forget(self.alice.user.name)
        #expect(tokens.enumerated().allSatisfy { self.isFound($1, at: now) != $0.isMultiple(of: 2) })
        self.remember(for: tokens[0])
        #expect(self.isFound(tokens[0]), "signed in again")
    }

    @Test(arguments: [0, 151])
    func theEntryOfATokenIsEvictedAndNoOther(age: TimeInterval) {
        let keys = ["one", "other"].map { self.cache.key(of: Fingerprint(of: $0[...])) }
        for key in keys { self.remember(for: key) }
        #expect(self.isFound(keys[0], at: self.start + age))
        self.cache.forget(Fingerprint(of: "one"))
        #expect(!self.isFound(keys[0], at: self.start + age))
        #expect(self.isFound(keys[1], at: self.start + age))
    }

    @Test func aCallerReadBeforeAChangeIsNotCached() {
        let token = Fingerprint(of: "token")
        let key = self.cache.key(of: token)
        let epoch = self.cache.epoch(of: key)
        self.cache.forget(self.bob.user.name)
        self.remember(for: key, since: epoch)
        #expect(self.isFound(key), "another's change")
        self.cache.forget(self.alice.user.name)
        self.remember(for: key, since: epoch)
        #expect(!self.isFound(key))
        let next = self.cache.epoch(of: key)
        self.cache.forget(token)
        self.remember(for: key, since: next)
        #expect(!self.isFound(key))
        self.remember(for: key)
        #expect(self.isFound(key))
    }

    @Test func aFloodOfChangesEvictsAllEntries() throws {
        let epoch = self.cache.epoch(of: self.key)
        self.remember()
        self.cache.forget(self.alice.user.name)
        for number in 0..<10_000 { self.cache.forget(try #require(Username("user\(number)"))) }
        #expect(!self.isFound())
        self.remember(since: epoch)
        #expect(!self.isFound())
        self.remember()
        #expect(self.isFound())
    }
}

@Suite(.timeLimit(.minutes(5))) struct QueryTests {
    @Test(arguments: [
        (nil, nil), ("", nil), ("a", ""), ("a=", ""), ("a=1", "1"), ("b=2&a=1", "1"), ("a=%31", "1"), ("%61=1", "1"),
        ("a=x+y", "x y"), ("a=x%2By", "x+y"), ("a==", "="), ("a=%C3%A4", "ä"), ("A=1", nil), ("&&a=1&", "1"),
    ])
    func aParameterIsDecoded(query: String?, value: String?) throws {
        #expect(try Query(query)["a"] == value)
    }
}

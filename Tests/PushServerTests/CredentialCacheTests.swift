import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

@testable import PushServer

@Suite struct CredentialCacheTests {
    private let cache = CredentialCache()
    private let start = Date(timeIntervalSince1970: 1_800_000_000)
    private let storage: StoreFixture
    private let alice: User

    init() async throws {
        self.storage = try StoreFixture()
        self.alice = try await self.storage.addUser("alice")
    }

    /// Seconds after each other at which it is asked, and whether the last one finds it.
    @Test(arguments: [
        ([0], true), ([149], true), ([151], true), ([299], true), ([301], false), ([100_000], false),
        ([149, 150, 150], false), ([100, 100, 99], true), ([-100_000], true),
    ])
    func anEntryLivesForOneToTwoHalfLives(steps: [TimeInterval], isFound: Bool) {
        let key = self.cache.key(for: "Basic YTpi")
        self.cache.remember(self.alice, for: key, now: self.start)
        var time = self.start
        var user: User?
        for step in steps {
            time += step
            user = self.cache.user(for: key, now: time)
        }
        #expect(user == (isFound ? self.alice : nil))
    }

    @Test func otherCredentialsAreOthers() {
        self.cache.remember(self.alice, for: self.cache.key(for: "Basic YTpi"), now: self.start)
        for other in ["Basic YTpj", "basic YTpi", "", "Basic YTpi "] {
            #expect(self.cache.user(for: self.cache.key(for: other), now: self.start) == nil)
        }
    }

    @Test func anotherCacheHasOtherKeys() {
        #expect(self.cache.key(for: "x") == self.cache.key(for: "x"))
        #expect(self.cache.key(for: "x") != CredentialCache().key(for: "x"))
    }

    @Test func allIsForgottenWhenAnAccountChanges() {
        let key = self.cache.key(for: "x")
        self.cache.remember(self.alice, for: key, now: self.start)
        self.cache.forgetAll()
        #expect(self.cache.user(for: key, now: self.start) == nil)
    }
}

@Suite struct QueryTests {
    @Test(arguments: [
        (nil, nil), ("", nil), ("a", ""), ("a=", ""), ("a=1", "1"), ("b=2&a=1", "1"), ("a=%31", "1"), ("%61=1", "1"),
        ("a=x+y", "x y"), ("a=x%2By", "x+y"), ("a==", "="), ("a=%C3%A4", "ä"), ("A=1", nil), ("&&a=1&", "1"),
    ])
    func aParameterIsDecoded(query: String?, value: String?) throws {
        #expect(try Query(query)["a"] == value)
    }
}

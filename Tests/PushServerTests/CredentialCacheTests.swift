import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

@testable import PushServer

@Suite(.timeLimit(.minutes(5))) struct CredentialCacheTests {
    private let cache = CredentialCache()
    private let key = Fingerprint(of: "Basic YTpi")
    private let start = Date(timeIntervalSince1970: 1_800_000_000)
    private let storage: StoreFixture
    private let alice: Caller

    init() async throws {
        self.storage = try StoreFixture()
        self.alice = Caller(try await self.storage.addUser("alice"))
    }

    private func remember(_ caller: Caller? = nil, for key: Fingerprint? = nil) {
        self.cache.remember(caller ?? self.alice, for: key ?? self.key, since: self.cache.epoch, now: self.start)
    }

    private func isFound(_ key: Fingerprint? = nil, at time: Date? = nil) -> Bool {
        self.cache.caller(for: key ?? self.key, now: time ?? self.start) != nil
    }

    /// Seconds after each other at which it is asked, and whether the last one finds it.
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
        self.remember(Caller(found.user, token: found.grant), for: fingerprint)
        #expect(self.isFound(fingerprint, at: self.start + 9.999))
        #expect(!self.isFound(fingerprint, at: self.start + 10))
    }

    @Test func otherCredentialsAreOthers() {
        self.remember()
        for other in ["Basic YTpj", "basic YTpi", "", "Basic YTpi "] {
            #expect(!self.isFound(Fingerprint(of: other[...])))
        }
    }

    @Test func allIsForgottenWhenAnAccountChanges() {
        self.remember()
        self.cache.forgetAll()
        #expect(!self.isFound())
    }

    @Test(arguments: [0, 151])
    func oneIsForgottenWithItsTokenAndNoOther(age: TimeInterval) {
        let other = Fingerprint(of: "other")
        for key in [self.key, other] { self.remember(for: key) }
        #expect(self.isFound(at: self.start + age))
        self.cache.forget(self.key)
        #expect(!self.isFound(at: self.start + age))
        #expect(self.isFound(other, at: self.start + age))
    }

    @Test func whatWasReadBeforeAChangeIsNotRemembered() {
        let epoch = self.cache.epoch
        self.cache.forget(Fingerprint(of: "another's"))
        self.cache.remember(self.alice, for: self.key, since: epoch, now: self.start)
        #expect(!self.isFound())
        let next = self.cache.epoch
        self.cache.forgetAll()
        self.cache.remember(self.alice, for: self.key, since: next, now: self.start)
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

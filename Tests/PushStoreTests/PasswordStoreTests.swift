import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

/// Hashes that replace another hash of the same password, and hashes that are checked for a user
/// name that does not exist.
@Suite(.eachStore, .timeLimit(.minutes(5))) struct PasswordStoreTests {
    private let fixture: StoreFixture

    init() throws {
        self.fixture = try StoreFixture()
    }

    private func change(_ user: User, to hash: String) async throws {
        let hash = PasswordHash(phc: hash)
        _ = try await self.fixture.store.changeUser(user.name, password: hash, now: self.fixture.now)
    }

    // MARK: Rehashing of the same password

    @Test func aNewHashOfTheSamePasswordEndsNothing() async throws {
        let alice = try await self.fixture.addUser("alice")
        let now = self.fixture.now
        let session = try await self.fixture.store.addSession(for: alice, scopes: .all, expiresAt: now + 60, now: now)
        let token = try #require(session).token
        let (old, new) = (PasswordHash(phc: "none"), PasswordHash(phc: "new"))
        try await self.fixture.store.rehashPassword(of: alice, from: old, to: new)
        #expect(try await self.fixture.user("alice") == alice, "with the same password number")
        #expect(try await self.fixture.reader.password(of: alice) == new)
        #expect(try await self.fixture.reader.user(withToken: token.fingerprint, now: now)?.user == alice)
    }

    @Test func aPasswordThatWasChangedMeanwhileStays() async throws {
        let alice = try await self.fixture.addUser("alice")
        try await self.change(alice, to: "changed")
        let (old, new) = (PasswordHash(phc: "none"), PasswordHash(phc: "new"))
        try await self.fixture.store.rehashPassword(of: alice, from: old, to: new)
        #expect(try await self.fixture.reader.password(of: self.fixture.user("alice")) == PasswordHash(phc: "changed"))
    }

    // MARK: The hash that stands in for an unknown name

    @Test func withoutUsersThereIsNoHash() async throws {
        for number in [0, 1, UInt64.max] { #expect(try await self.fixture.reader.password(chosenBy: number) == nil) }
    }

    @Test func everyUsersHashIsChosenDespiteGaps() async throws {
        for number in 0..<10 {
            let name = try #require(Username("user\(number)"))
            let hash = PasswordHash(phc: "\(number)")
            _ = try await self.fixture.store.addUser(name, role: .device, password: hash, now: self.fixture.now)
        }
        _ = try await self.fixture.store.deleteUser(#require(Username("user3")))
        var counts: [String: Int] = [:]
        for number in 0..<10_000 {
            let key = UInt64(number) &* 0x9E37_79B9_7F4A_7C15
            let hash = try #require(try await self.fixture.reader.password(chosenBy: key))
            counts[hash.phc, default: 0] += 1
        }
        #expect(counts.count == 9)
        for (phc, count) in counts { #expect(phc == "4" ? count > 1500 : (700...1300).contains(count), "\(phc)") }
    }

    @Test func aNewBucketTakesItsShareAndNothingElseMoves() {
        var generator = SystemRandomNumberGenerator()
        let keys = (0..<10_000).map { _ in UInt64.random(in: 0 ... .max, using: &generator) } + [0, 1, .max]
        for count in [Int64(1), 2, 10, 1000] {
            var moved = 0
            for key in keys {
                let (before, after) = (key.bucket(of: count), key.bucket(of: count + 1))
                #expect((0..<count).contains(before))
                #expect(after == before || after == count)
                if after != before { moved += 1 }
            }
            let share = Double(keys.count) / Double(count + 1)
            #expect(abs(Double(moved) - share) < 6 * share.squareRoot() + 6, "\(count)")
        }
        #expect((0..<Int64.max).contains(keys[0].bucket(of: .max)))
    }
}

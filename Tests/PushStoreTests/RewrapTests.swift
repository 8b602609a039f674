import Foundation
import PushCore
import PushStore
import PushTesting
import Synchronization
import Testing

/// The store encrypts its values again when the keys change.
@Suite(.eachStore, .timeLimit(.minutes(5))) struct RewrapTests {
    private let old = Keyring.generateText()
    private let fixture: StoreFixture

    init() throws {
        self.fixture = try StoreFixture(keyring: self.old)
    }

    private var both: String {
        get throws { try Keyring.addingKey(to: self.old).text }
    }

    @Test(arguments: [1, 2, 1000])
    func rewrapReencryptsAllValuesAndFreesTheOldKey(page: Int) async throws {
        try await self.fixture.fillSealed()
        let both = try self.both
        #expect(try await fixture.store.rewrap() == nil, "nothing is to be done")
        #expect(try await fixture.store.replaceKeyring(Keyring(text: both), now: fixture.now))
        #expect(try await !fixture.store.replaceKeyring(Keyring(text: both), now: fixture.now))
        let needed = try self.fixture.place.countSealed(with: 1)
        let entries = try await fixture.reader.auditEntries(before: nil, limit: 9)
        #expect(entries.map { "\($0.action) \($0.subject)" } == ["keys.change key 2"])
        let passed = Mutex<[Int]>([])
        let result = try await fixture.store.rewrap(page: page) { count in passed.withLock { $0.append(count) } }
        #expect(result?.unused == [1])
        #expect(result?.renewed == needed)
        let counts = passed.withLock(\.self)
        #expect(counts == counts.sorted() && counts.first == page)
        #expect(try await fixture.reader.countSealed() >= result?.renewed ?? .max)
        #expect(try self.fixture.place.countSealed(with: 1) == 0)
        #expect(try self.fixture.place.countSealed(with: 2) >= result?.renewed ?? .max)
        await fixture.store.close()

        let next = try StoreFixture(in: fixture.folder, keyring: Keyring.removingKey(1, from: both))
        #expect(try await next.openSealed() == StoreFixture.sealedSample)
        while try await next.store.expandFanout(page: 10, now: fixture.now) != nil {}
        await next.store.close()
    }

    @Test func valueEncryptedBeforeTheExchangeIsReencryptedWhenStored() async throws {
        let alice = try await fixture.addUser("alice")
        let id = try #require(NotificationID(rawValue: 7))
        let sealed = try fixture.store.vault.seal(Data("late".utf8), in: .payload(id, sender: alice.id))
        let both = try self.both
        _ = try await fixture.store.replaceKeyring(Keyring(text: both), now: fixture.now)
        #expect(try await fixture.store.rewrap()?.unused == [1])
        let notification = NewNotification(
            id: id,
            sender: alice.id,
            sealedPayload: sealed,
            audience: fixture.store.hashed(Audience([.tag(Tag(of: alice.name))])),
            createdAt: fixture.now,
            expiresAt: fixture.now + 60
        )
        _ = try await fixture.store.post(notification)
        await fixture.store.close()

        let next = try StoreFixture(in: fixture.folder, keyring: Keyring.removingKey(1, from: both))
        let found = try await next.reader.notification(id, for: alice.id, alsoAsSender: false, now: next.now)
        let payload = try next.store.vault.open(#require(found).sealedPayload, in: .payload(id, sender: alice.id))
        #expect(payload == Data("late".utf8))
        await next.store.close()
    }

    @Test func hashesStayTheSame() async throws {
        try await self.fixture.fillSealed()
        let key = fixture.store.indexSecret.derive("x")
        let both = try self.both
        _ = try await fixture.store.replaceKeyring(Keyring(text: both), now: fixture.now)
        _ = try await fixture.store.rewrap()
        await fixture.store.close()
        let next = try StoreFixture(in: fixture.folder, keyring: Keyring.removingKey(1, from: both))
        #expect(next.store.indexSecret.derive("x") == key)
        await next.store.close()
    }

    @Test func aKeyInUseThatIsMissingOrAnotherIsRefusedByItsNumber() async throws {
        let other = Keyring.generateText()
        let another = try Keyring.addingKey(to: other).text
        let missing = try Keyring.removingKey(1, from: Keyring.addingKey(to: other).text)
        for (keyring, words) in [(another, "key 1 is not the key that"), (missing, "lacks key 1")] {
            let error = await #expect(throws: StoreError.self) {
                try await fixture.store.replaceKeyring(Keyring(text: keyring), now: fixture.now)
            }
            #expect("\(try #require(error))".contains(words))
        }
        #expect(fixture.store.vault.keyring == fixture.keyring, "the old one stays")
        await fixture.store.close()
        for keyring in [another, missing] {
            let error = #expect(throws: StoreError.self) {
                try StoreFixture(in: fixture.folder, keyring: keyring)
            }
            #expect(try #require(error).isConfiguration)
        }
        await #expect(throws: Never.self) {
            try await fixture.reopened().store.close()
        }
    }
}

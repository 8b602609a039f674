import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

/// These tests follow an alert from the post of its notification to the pushes that contain it.
@Suite(.eachStore, .timeLimit(.minutes(5))) struct AlertStoreTests {
    private let old = Keyring.generateText()
    private let fixture: StoreFixture

    init() throws {
        self.fixture = try StoreFixture(keyring: self.old)
    }

    /// An alert whose members all have different values.
    private static var alert: PushAlert {
        var alert = PushAlert()
        for member in AlertMember.allCases { alert[member] = "value of \(member.rawValue)" }
        alert.badge = 3
        alert.toastText = "A toast"
        return alert
    }

    private func alerts() async throws -> [Int64: Set<PushAlert?>] {
        try await self.fixture.lease().reduce(into: [:]) {
            $0[$1.push.notification.rawValue, default: []].insert($1.push.alert)
        }
    }

    @Test func everyPushOfANotificationHasItsAlertAndNoOther() async throws {
        let alice = try await fixture.addUser("alice")
        for handle in ["a", "b"] { try await fixture.addDevice(of: alice, handle: handle) }
        var badge = PushAlert()
        badge.badge = 0
        try await fixture.post(1, from: alice, to: "username:alice", alert: Self.alert)
        try await fixture.post(2, from: alice, to: "username:alice")
        try await fixture.post(3, from: alice, to: "username:alice", alert: badge)
        #expect(try await self.alerts() == [1: [Self.alert], 2: [nil], 3: [badge]])
    }

    @Test func alertIsReencryptedWithTheOtherValues() async throws {
        let alice = try await fixture.addUser("alice")
        try await fixture.addDevice(of: alice, handle: "a")
        try await fixture.post(1, from: alice, to: "username:alice", alert: Self.alert)
        let both = try Keyring.addingKey(to: self.old).text
        _ = try await fixture.store.replaceKeyring(Keyring(text: both), now: fixture.now)
        #expect(try await fixture.store.rewrap()?.unused == [1])
        await fixture.store.close()

        let next = try StoreFixture(in: fixture.folder, keyring: Keyring.removingKey(1, from: both))
        #expect(try await next.lease().map(\.push.alert) == [Self.alert])
        await next.store.close()
    }

    @Test func alertEncryptedBeforeTheExchangeIsReencryptedWhenStored() async throws {
        let alice = try await fixture.addUser("alice")
        try await fixture.addDevice(of: alice, handle: "a")
        let id = try #require(NotificationID(rawValue: 7))
        let payload = try fixture.store.vault.seal(Data("late".utf8), in: .payload(id, sender: alice.id))
        let json = try JSONEncoder().encode(Self.alert)
        let alert = try fixture.store.vault.seal(json, in: .alert(id, sender: alice.id))
        let both = try Keyring.addingKey(to: self.old).text
        _ = try await fixture.store.replaceKeyring(Keyring(text: both), now: fixture.now)
        #expect(try await fixture.store.rewrap()?.unused == [1])
        _ = try await fixture.store.post(
            NewNotification(
                id: id,
                sender: alice.id,
                sealedPayload: payload,
                audience: fixture.store.hashed(Audience([.tag(Tag(of: alice.name))])),
                createdAt: fixture.now,
                expiresAt: fixture.now + 60,
                options: NotificationOptions { $0.sealedAlert = alert }
            )
        )
        await fixture.store.close()

        let next = try StoreFixture(in: fixture.folder, keyring: Keyring.removingKey(1, from: both))
        #expect(try await next.lease().map(\.push.alert) == [Self.alert])
        await next.store.close()
    }
}

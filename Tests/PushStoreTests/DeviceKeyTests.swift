import PushCore
import PushStore
import PushTesting
import Testing

/// The public keys of devices for end-to-end encryption, which the store keeps as texts.
@Suite(.eachStore, .timeLimit(.minutes(5))) struct DeviceKeyTests {
    private let fixture: StoreFixture

    init() throws {
        self.fixture = try StoreFixture()
    }

    private func keys(_ expression: String, atMost limit: Int = 10) async throws -> [String: String?]? {
        let audience = Audience([try TagExpression(expression)])
        let found = try await self.fixture.store.deviceKeys(of: self.fixture.store.hashed(audience), atMost: limit)
        return found.map { entries in
            Dictionary(uniqueKeysWithValues: entries.map { ("\($0.owner.name) \($0.id)", $0.key) })
        }
    }

    private func setKey(_ key: String, of id: RegistrationID, for user: User) async throws -> Bool {
        try await self.fixture.store.setKey(key, of: id, ofUser: user.id, by: nil)
    }

    @Test func theKeysOfAnAudienceAreListedWithTheirUsers() async throws {
        let (alice, bob) = (try await fixture.addUser("alice"), try await fixture.addUser("bob"))
        let phone = try await fixture.addDevice(of: alice, handle: "a1")
        let tablet = try await fixture.addDevice(of: alice, handle: "a2", tags: ["news"])
        let other = try await fixture.addDevice(of: bob, handle: "b1", tags: ["news"])
        #expect(try await self.setKey("one", of: phone, for: alice))
        #expect(try await self.setKey("two", of: other, for: bob))
        #expect(try await self.setKey("three", of: other, for: bob))
        #expect(try await self.keys("username:alice") == ["alice \(phone)": "one", "alice \(tablet)": nil])
        #expect(try await self.keys("news") == ["alice \(tablet)": nil, "bob \(other)": "three"])
        #expect(try await self.keys("news && username:bob") == ["bob \(other)": "three"])
        #expect(try await self.keys("username:nobody") == [:])
        let devices = try await fixture.reader.devices(ofUser: alice.id)
        #expect(devices.count { $0.id == phone && $0.key == "one" } == 1)
        #expect(devices.count { $0.id == tablet && $0.key == nil } == 1)
    }

    @Test func anAudienceBeyondTheLimitIsRefused() async throws {
        let alice = try await fixture.addUser("alice")
        for number in 1...3 { try await fixture.addDevice(of: alice, handle: "a\(number)", tags: ["news"]) }
        #expect(try await self.keys("news", atMost: 3)?.count == 3)
        #expect(try await self.keys("news", atMost: 2) == nil)
        #expect(try await self.keys("!news", atMost: 2) == nil)
        #expect(try await self.keys("!old", atMost: 3)?.count == 3)
    }

    @Test func onlyTheUsersOwnRegisteredDeviceGetsAKey() async throws {
        let (alice, bob) = (try await fixture.addUser("alice"), try await fixture.addUser("bob"))
        let phone = try await fixture.addDevice(of: alice, handle: "a1")
        #expect(try await !self.setKey("x", of: phone, for: bob))
        let issued = try await fixture.store.requestRegistration(ofUser: alice.id, handle: nil, now: fixture.now)
        #expect(try await !self.setKey("x", of: issued, for: alice))
        #expect(try await self.keys("username:alice") == ["alice \(phone)": nil])
    }

    /// The handle of a device changes often, but its key must stay.
    @Test func aKeySurvivesRegisteringAgainAndEndsWithTheRegistration() async throws {
        let (alice, bob) = (try await fixture.addUser("alice"), try await fixture.addUser("bob"))
        let phone = try await fixture.addDevice(of: alice, handle: "a1")
        #expect(try await self.setKey("one", of: phone, for: alice))
        let platform = Platform("apns")
        let again = DeviceRegistration(
            platform: platform,
            lane: Lane(platform),
            handle: try #require(DeviceHandle("a2")),
            tags: []
        )
        _ = try await fixture.store.register(again, as: phone, for: alice, now: fixture.now)
        #expect(try await self.keys("username:alice") == ["alice \(phone)": "one"])
        // Another account registers the same handle. This retires the device.
        let other = try await fixture.addDevice(of: bob, handle: "a2")
        #expect(try await self.keys("username:alice") == [:])
        #expect(try await self.keys("username:bob") == ["bob \(other)": nil])
        #expect(try await !self.setKey("x", of: phone, for: alice))
    }
}

import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

/// Tags that an administrator gives to users. A notification to such a tag is pushed to all of the
/// user's devices, and the user may read it.
@Suite(.eachStore, .timeLimit(.minutes(5))) struct UserTagTests {
    private let fixture: StoreFixture
    private var store: any Store { self.fixture.store }

    init() async throws {
        self.fixture = try await Self.fixture(TagPolicy())
    }

    /// Makes alice with two devices, of which one has registered with the tags `own` and
    /// `role:chief`. Bob has one device, and carol has none.
    private static func fixture(_ policy: TagPolicy) async throws -> StoreFixture {
        var options = StoreOptions()
        options.tags = policy
        let fixture = try StoreFixture(options: options)
        let alice = try await fixture.addUser("alice", role: .publisher)
        try await fixture.addDevice(of: alice, handle: "a-1", tags: ["own", "role:chief"])
        try await fixture.addDevice(of: alice, platform: "fcm", handle: "a-2")
        try await fixture.addDevice(of: fixture.addUser("bob"), handle: "b-1", tags: ["beta"])
        try await fixture.addUser("carol")
        return fixture
    }

    private func give(_ tags: [String], to user: String, in fixture: StoreFixture? = nil) async throws {
        let name = try #require(Username(user))
        let store = (fixture ?? self.fixture).store
        #expect(try await store.setTags(Set(tags.compactMap { PushCore.Tag($0) }), ofUser: name, by: nil))
    }

    /// Posts to an expression. Returns the handles that get a push, and the users who may read the
    /// notification.
    private func reached(
        by expression: String,
        _ platforms: [String]? = nil,
        number: Int64 = 1,
        page: Int? = nil,
        in fixture: StoreFixture? = nil
    ) async throws -> [String] {
        let fixture = fixture ?? self.fixture
        try await fixture.post(number, from: fixture.user("alice"), to: expression, platforms: platforms, page: page)
        while try await fixture.store.expandFanout(page: page, now: fixture.now) != nil {}
        var reached: [String] = []
        for platform in ["apns", "fcm"] { reached += try await fixture.lease(platform).map(\.push.handle) }
        let id = try #require(NotificationID(rawValue: number))
        for name in ["alice", "bob", "carol"] {
            let user = try await fixture.user(name).id
            let found = try await fixture.reader.notification(id, for: user, alsoAsSender: false, now: fixture.now)
            if found != nil { reached.append(name) }
        }
        return reached
    }

    @Test func userTagsApplyToAllDevicesAndToReading() async throws {
        for user in ["alice", "bob"] { try await self.give(["board"], to: user) }
        try await self.give(["Board", "night"], to: "carol")
        for (number, (expression, expected)) in Self.audiences.enumerated() {
            let reached = try await self.reached(by: expression, number: Int64(number + 1))
            #expect(reached == expected, "\(expression)")
        }
    }

    @Test func tagsAreSetOnlyIfTheUsersRightsAreUnchanged() async throws {
        let (store, now) = (self.store, self.fixture.now)
        let carol = try await self.fixture.user("carol")
        let tags = Set(["board"].compactMap { PushCore.Tag($0) })
        #expect(try await store.setTags(tags, ofUser: carol.name, ifStill: carol.rights, by: nil))
        _ = try await store.changeUser(carol.name, apps: [.usual, #require(AppName("bank"))], now: now)
        #expect(try await !store.setTags([], ofUser: carol.name, ifStill: carol.rights, by: nil))
        _ = try await store.changeUser(carol.name, apps: carol.apps, now: now)
        _ = try await store.changeUser(carol.name, role: .publisher, now: now)
        #expect(try await !store.setTags([], ofUser: carol.name, ifStill: carol.rights, by: nil))
        #expect(try await self.fixture.reader.tags(ofUser: carol.name) == Array(tags))
    }

    private static let audiences = [
        ("board", ["a-1", "b-1", "a-2", "alice", "bob", "carol"]),
        ("board && night", ["carol"]), ("board && !night", ["a-1", "b-1", "a-2", "alice", "bob"]),
        ("board && own", ["a-1", "alice"]), ("own", ["a-1", "alice"]), ("board && username:carol", ["carol"]),
        ("username:carol && board", ["carol"]), ("username:carol && own", []), ("username:nobody && board", []),
        ("night || own", ["a-1", "alice", "carol"]), ("board && !username:alice", ["b-1", "bob", "carol"]),
        // The tag `beta` of a device decides whether the device gets a push, but not whether its
        // user may read the notification.
        ("board && !beta", ["a-1", "a-2", "alice", "bob", "carol"]),
        // If an expression requires no tag of a user, it selects devices.
        ("!board", []), ("!night", ["a-1", "b-1", "a-2", "alice", "bob"]), ("chief", []), ("from:board", []),
    ]

    @Test(arguments: [1, 2, 3, 100])
    func aBroadcastWalksAlongUsersPageByPage(page: Int) async throws {
        for user in ["alice", "bob", "carol"] { try await self.give(["board", "own"], to: user) }
        let all = ["a-1", "b-1", "a-2", "alice", "bob", "carol"]
        #expect(try await self.reached(by: "board || own", page: page).sorted() == all.sorted())
        #expect(try await self.fixture.store.expandFanout(page: page, now: self.fixture.now) == nil)
    }

    @Test func platformsLimitPushesAndNotReading() async throws {
        for user in ["alice", "carol"] { try await self.give(["board"], to: user) }
        #expect(try await self.reached(by: "board", ["fcm"]) == ["a-2", "alice", "carol"])
    }

    @Test(arguments: [
        (TagPolicy(), "own", ["a-1", "alice", "carol"]), (TagPolicy(), "role:chief", ["carol"]),
        (TagPolicy(reserved: ["OWN"]), "own", ["carol"]),
        (TagPolicy(reserved: []), "role:chief", ["a-1", "alice", "carol"]),
        (TagPolicy(isOpen: false), "own", ["carol"]),
        (TagPolicy(isOpen: false), "!own", ["a-1", "b-1", "a-2", "alice", "bob"]),
        (TagPolicy(isOpen: false), "username:bob", ["b-1", "bob"]),
        (TagPolicy(isOpen: false), "own && !beta", ["carol"]),
    ])
    func reservedTagCountsOnlyIfGivenToTheUser(
        policy: TagPolicy,
        expression: String,
        expected: [String]
    ) async throws {
        let fixture = try await Self.fixture(policy)
        try await self.give(["own", "role:chief"], to: "carol", in: fixture)
        #expect(try await self.reached(by: expression, in: fixture) == expected)
    }

    @Test func userTagsAreReplacedAndListedInOrder() async throws {
        let bob = try #require(Username("BOB"))
        #expect(try await self.fixture.reader.tags(ofUser: bob) == [])
        try await self.give(["night", "board"], to: "bob")
        #expect(try await self.fixture.reader.tags(ofUser: bob)?.map(\.description) == ["board", "night"])
        try await self.give(["crew"], to: "bob")
        #expect(try await self.fixture.reader.tags(ofUser: bob)?.map(\.description) == ["crew"])
        #expect(try await self.reached(by: "board || night") == [])
        try await self.give([], to: "bob")
        #expect(try await self.fixture.reader.tags(ofUser: bob) == [])
    }

    @Test func earlierNotificationStaysReadable() async throws {
        try await self.give(["board"], to: "carol")
        #expect(try await self.reached(by: "board") == ["carol"])
        try await self.give([], to: "carol")
        let id = try #require(NotificationID(rawValue: 1))
        let carol = try await self.fixture.user("carol").id
        let reader = self.fixture.reader
        #expect(try await reader.notification(id, for: carol, alsoAsSender: false, now: self.fixture.now) != nil)
    }

    @Test func deletedUserLeavesNoTags() async throws {
        try await self.give(["board"], to: "carol")
        #expect(try await self.store.deleteUser(#require(Username("carol"))) == .done)
        #expect(try await self.store.setTags([], ofUser: #require(Username("carol")), by: nil) == false)
        #expect(try await self.fixture.reader.tags(ofUser: #require(Username("carol"))) == nil)
        try await self.fixture.addUser("carol")
        #expect(try await self.reached(by: "board") == [])
    }
}

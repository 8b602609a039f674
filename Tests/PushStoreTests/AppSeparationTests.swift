import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

/// The separation of two apps in one database: their users, devices and notifications.
@Suite(.eachStore, .timeLimit(.minutes(5))) struct AppSeparationTests {
    private static let bank = AppName("bank") ?? .usual
    private static let (own, others) = (Platform("apns"), Platform("apns", of: bank))

    private let fixture: StoreFixture
    private let publisher: User

    init() async throws {
        self.fixture = try StoreFixture()
        self.publisher = try await self.fixture.addUser("publisher", role: .publisher)
    }

    private func addUser(_ name: String, of apps: Set<AppName>) async throws -> User {
        let user = try await self.fixture.addUser(name)
        #expect(try await self.fixture.store.changeUser(user.name, apps: apps, now: self.fixture.now) == .done)
        return try await self.fixture.user(name)
    }

    private func post(
        _ number: Int64,
        to expression: String,
        of app: AppName,
        on platforms: Set<Platform>?,
        page: Int? = nil
    ) async throws -> PostOutcome {
        let id = try #require(NotificationID(rawValue: number))
        let audience = Audience([try TagExpression(expression)], of: app, platforms: platforms)
        return try await self.fixture.post(id, from: self.publisher, to: audience, page: page)
    }

    @Test func theAppsOfAUserAreStoredAndReadWithIt() async throws {
        let alice = try await self.addUser("alice", of: [Self.bank, .usual])
        #expect(alice.apps == [Self.bank, .usual])
        #expect(try await self.fixture.reader.userEntry(named: alice.name)?.apps == [Self.bank, .usual])
        #expect(self.publisher.apps == [.usual])
        let nobody = try await self.addUser("nobody", of: [])
        #expect(nobody.apps == [])
    }

    @Test func theSameHandleIsADeviceOfEachApp() async throws {
        let alice = try await self.addUser("alice", of: [Self.bank, .usual])
        for platform in [Self.own, Self.others] {
            try await self.fixture.addDevice(of: alice, platform: platform.description, handle: "aa")
        }
        let platforms = try await self.fixture.reader.devices(ofUser: alice.id).map(\.platform)
        #expect(Set(platforms) == [Self.own, Self.others])
    }

    /// One user belongs to both apps, and one to each app. Devices of both apps have the same tag.
    /// A page of the fan-out (the search for recipients' devices) has one device, or all.
    @Test(arguments: [1, 1000])
    func aNotificationReachesUsersAndDevicesOfItsAppOnly(page: Int) async throws {
        let both = try await self.addUser("both", of: [Self.bank, .usual])
        let banker = try await self.addUser("banker", of: [Self.bank])
        let usual = try await self.fixture.addUser("usual")
        try await self.fixture.addDevice(of: both, platform: "apns", handle: "b1", tags: ["news"])
        try await self.fixture.addDevice(of: both, platform: "bank:apns", handle: "b2", tags: ["news"])
        try await self.fixture.addDevice(of: banker, platform: "bank:apns", handle: "b3", tags: ["news"])
        try await self.fixture.addDevice(of: usual, platform: "apns", handle: "b4", tags: ["news"])
        guard let vip = PushCore.Tag("vip") else { throw StoreFixture.Missing("vip is no tag") }
        for user in [both, banker, usual] {
            _ = try await self.fixture.store.setTags([vip], ofUser: user.name, by: nil)
        }
        _ = try await self.post(1, to: "news", of: Self.bank, on: [Self.others], page: page)
        _ = try await self.post(2, to: "vip", of: .usual, on: [Self.own], page: page)
        while try await self.fixture.store.expandFanout(page: page, now: self.fixture.now) != nil {}
        let bankers = try await self.fixture.lease("bank:apns").map(\.push.handle)
        let others = try await self.fixture.lease("apns").map(\.push.handle)
        #expect(bankers.sorted() == ["b2", "b3"])
        #expect(others.sorted() == ["b1", "b4"])
        for (user, app, expected) in [
            (both, Self.bank, [1]), (both, .usual, [2]), (banker, Self.bank, [1]), (banker, .usual, []),
            (usual, Self.bank, []), (usual, .usual, [2]),
        ] as [(User, AppName, [Int64])] {
            let range = ChangeRange(after: nil, limit: 10, isUnreadOnly: false, app: app)
            let page = try await self.fixture.reader.notifications(range, for: user.id, now: self.fixture.now) { _ in
                false
            }
            #expect(page.entries.map(\.id.rawValue) == expected, "\(user.name) \(app)")
        }
    }

    /// A server with one app names no platforms. Yet the database may have devices of another app,
    /// which was removed from the configuration, or which only another server has.
    @Test(arguments: ["username:both", "news", "vip", "!quiet", "news && !quiet"], [1, 1000])
    func aNotificationOfTheOnlyAppReachesNoDeviceOfAnother(expression: String, page: Int) async throws {
        let both = try await self.addUser("both", of: [Self.bank, .usual])
        for (platform, handle) in [("apns", "b1"), ("bank:apns", "b2"), ("fcm", "b3")] {
            try await self.fixture.addDevice(of: both, platform: platform, handle: handle, tags: ["news"])
        }
        guard let vip = PushCore.Tag("vip") else { throw StoreFixture.Missing("vip is no tag") }
        _ = try await self.fixture.store.setTags([vip], ofUser: both.name, by: nil)
        _ = try await self.post(1, to: expression, of: .usual, on: nil, page: page == 1 ? page : nil)
        while try await self.fixture.store.expandFanout(page: page, now: self.fixture.now) != nil {}
        for (lane, handles) in [("apns", ["b1"]), ("fcm", ["b3"]), ("bank:apns", [])] {
            #expect(try await self.fixture.lease(lane).map(\.push.handle) == handles, "\(lane)")
        }
    }

    @Test func aUserOfAnotherAppIsUnknown() async throws {
        try await self.fixture.addUser("alice")
        let name = try #require(Username("alice"))
        let outcome = try await self.post(1, to: "username:alice", of: Self.bank, on: [Self.others])
        #expect(outcome == .unknownUser(name))
        let banker = try await self.addUser("banker", of: [Self.bank])
        #expect(try await self.post(2, to: "username:banker", of: .usual, on: [Self.own]) == .unknownUser(banker.name))
    }

    @Test func listOfOneAppHasNothingOfOtherApps() async throws {
        let both = try await self.addUser("both", of: [Self.bank, .usual])
        for number: Int64 in 1...6 {
            let isBank = number.isMultiple(of: 2)
            _ = try await self.post(
                number,
                to: "username:both",
                of: isBank ? Self.bank : .usual,
                on: isBank ? [Self.others] : [Self.own]
            )
        }
        var (start, seen): (Int64?, [Int64]) = (nil, [])
        repeat {
            let range = ChangeRange(after: start, limit: 1, isUnreadOnly: false, app: Self.bank)
            let page = try await self.fixture.reader.notifications(range, for: both.id, now: self.fixture.now) { _ in
                false
            }
            seen += page.entries.map(\.id.rawValue)
            if !page.hasMore { break }
            start = page.end
        } while seen.count < 10
        #expect(seen == [2, 4, 6])
        let ids = try (1...6).map { try #require(NotificationID(rawValue: $0)) }
        let page = try await self.fixture.reader.notifications(
            ids,
            of: Self.bank,
            for: both.id,
            now: self.fixture.now,
            within: .unlimited
        ) { _ in false }
        #expect(page.entries.map(\.id.rawValue) == [2, 4, 6])
    }

    /// A user who gets another app gains rights. The user's sessions end then, because a token on
    /// an old phone must not gain rights.
    @Test(arguments: [
        (Role.device, ["default"], Role?.none, ["default", "bank"] as [String]?, true),
        (.device, [], nil, ["bank"], true),
        (.publisher, ["bank"], nil, ["default"], true), (.device, ["default", "bank"], nil, ["bank"], false),
        (.device, ["default"], nil, ["default"], false), (.device, ["bank"], .publisher, nil, true),
        (.publisher, ["bank"], .device, nil, false), (.publisher, ["bank"], .device, ["bank", "default"], true),
        (.admin, ["default"], nil, ["default", "bank"], false), (.admin, ["default"], .device, ["bank"], false),
    ])
    func sessionsAndCodesEndWhenTheUserGainsRights(
        role: Role,
        apps: [String],
        newRole: Role?,
        newApps: [String]?,
        isEnded: Bool
    ) async throws {
        let (store, now) = (self.fixture.store, self.fixture.now)
        try await self.fixture.addUser("ada", role: .admin)
        let name = try await self.fixture.addUser("alice", role: role).name
        _ = try await store.changeUser(name, apps: Set(apps.compactMap { AppName($0) }), now: now)
        let alice = try await self.fixture.user("alice")
        let session = try #require(
            try await store.addSession(
                for: alice,
                scopes: .fetch,
                expiresAt: now + 60,
                isVouched: false,
                by: nil,
                now: now
            )
        )
        let code = EnrolmentCode.random().fingerprint
        #expect(
            try await store.addEnrolment(code, for: alice, scopes: .fetch, expiresAt: now + 60, by: nil, now: now)
        )
        let change = try await store.changeUser(
            name,
            role: newRole,
            apps: newApps.map { Set($0.compactMap { AppName($0) }) },
            password: nil,
            isDisabled: nil,
            by: nil,
            now: now
        )
        #expect(change == .done)
        let reader = self.fixture.reader
        #expect(try await (reader.user(withToken: session.token.fingerprint, now: now) == nil) == isEnded)
        #expect(try await reader.hasEnrolment(code, now: now) == !isEnded)
    }

    @Test func theAppsOfNotificationsAreRead() async throws {
        _ = try await self.addUser("both", of: [Self.bank, .usual])
        _ = try await self.post(1, to: "username:both", of: Self.bank, on: [Self.others])
        _ = try await self.post(2, to: "username:both", of: .usual, on: [Self.own])
        let ids = try (1...3).map { try #require(NotificationID(rawValue: $0)) }
        let apps = try await self.fixture.reader.apps(of: ids, now: self.fixture.now)
        #expect(apps == [ids[0]: Self.bank, ids[1]: .usual])
        self.fixture.clock.advance(by: 1e7)
        #expect(try await self.fixture.reader.apps(of: ids, now: self.fixture.now) == [:], "they have expired")
        #expect(try await self.fixture.reader.summary(of: ids[0])?.app == Self.bank)
        #expect(try await self.fixture.reader.summary(of: ids[1])?.app == .usual)
        #expect(try await self.fixture.reader.apps(of: [], now: self.fixture.now) == [:])
    }

    @Test(arguments: [([bank, .usual], [1, 2]), ([.usual], [2]), ([], [])] as [(Set<AppName>, [Int64])])
    func onlyNotificationsOfTheUsersAppsAreMarked(apps: Set<AppName>, expected: [Int64]) async throws {
        let both = try await self.addUser("both", of: [Self.bank, .usual])
        _ = try await self.post(1, to: "username:both", of: Self.bank, on: [Self.others])
        _ = try await self.post(2, to: "username:both", of: .usual, on: [Self.own])
        #expect(try await self.fixture.store.changeUser(both.name, apps: apps, now: self.fixture.now) == .done)
        let user = try await self.fixture.user("both")
        let ids = try [1, 2, 3, 2, 1].map { try #require(NotificationID(rawValue: $0)) }
        for changed in [apps, []] {
            let marked = try await self.fixture.store.markRead(ids, by: user, now: self.fixture.now)
            #expect(marked.read.map(\.rawValue) == expected && marked.changedApps == changed)
        }
    }

    @Test func userWhoLeavesAnAppLosesOnlyItsDevices() async throws {
        let both = try await self.addUser("both", of: [Self.bank, .usual])
        try await self.fixture.addDevice(of: both, platform: "apns", handle: "b1")
        try await self.fixture.addDevice(of: both, platform: "bank:apns", handle: "b2")
        _ = try await self.post(1, to: "username:both", of: Self.bank, on: [Self.others])
        #expect(try await self.fixture.store.changeUser(both.name, apps: [.usual], now: self.fixture.now) == .done)
        #expect(try await self.fixture.reader.devices(ofUser: both.id).map(\.platform) == [Self.own])
        #expect(try await self.fixture.lease("bank:apns").isEmpty)
    }
}

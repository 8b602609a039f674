import Foundation
import PostgreSQL
import PushCore
import PushSQLite
import PushStore
import PushTesting
import Testing

@testable import PushPostgreSQL
@testable import sealpost

/// A folder with an SQLite database, and the PostgreSQL database to which it is moved.
struct MoveFixture {
    /// The error that a test throws to interrupt the move.
    struct Broken: Error {}

    let folder: TemporaryFolder
    let keyring = Keyring.generateText()

    init() throws {
        self.folder = try TemporaryFolder()
    }

    private static var options: StoreOptions {
        var options = StoreOptions.withEvents
        options.streamLanes = ["stream"]
        options.looks = ["apns": .seconds(10)]
        return options
    }

    func source(admitsMoved: Bool = false) throws -> StoreFixture {
        var options = Self.options
        options.admitsMoved = admitsMoved
        return try StoreFixture(.sqlite, in: self.folder, keyring: self.keyring, options: options)
    }

    func target() throws -> StoreFixture {
        try StoreFixture(.postgreSQL, in: self.folder, keyring: self.keyring, options: Self.options)
    }

    var file: SQLiteDatabase { SQLiteDatabase(path: self.folder.file("test.db")) }

    var place: PostgreSQLPlace {
        get throws { try #require(try StoreKind.postgreSQL.place(self.folder) as? PostgreSQLPlace) }
    }

    /// Connects to the PostgreSQL database.
    func connect() throws -> BlockingConnection { try self.place.connected { $0 } }

    /// Moves the SQLite database to the PostgreSQL database. Returns the number of moved rows.
    @discardableResult
    func move(
        keyring: String? = nil,
        to place: PostgreSQLPlace? = nil,
        report: @escaping (MoveProgress) throws -> Void = { _ in }
    ) async throws -> Int {
        let place = try place ?? self.place
        return try await self.file.asMoveSource(Keyring(text: keyring ?? self.keyring)) { source in
            try await place.asMoveTarget { target in
                try await Move(from: source, to: target, report: report).run(now: Date())
            }
        }
    }

    /// Fills every table of the SQLite database, and closes it. Returns a token of alice.
    func fill() async throws -> BearerToken {
        let fixture = try self.source()
        let (store, now) = (fixture.store, fixture.now)
        let alice = try await fixture.addUser("alice", role: .publisher)
        let bob = try await fixture.addUser("bob")
        let carol = try await fixture.addUser("carol")
        try await fixture.addUsersWithRecords(3)
        _ = try await store.trimAudit(before: now + 1, limit: 1)
        let tags = Set(["vip"].compactMap { PushCore.Tag($0) })
        #expect(try await store.setTags(tags, ofUser: bob.name, by: nil))
        let token = try #require(
            try await store.addToken(
                for: alice.name,
                scopes: [.send, .fetch],
                expiresAt: now + 9000,
                by: nil,
                now: now
            )
        )
        try await fixture.addDevice(of: alice, handle: "a-1", tags: ["news"])
        try await fixture.addDevice(of: alice, platform: "stream", handle: "a-2")
        try await fixture.addDevice(of: bob, handle: "b-1", tags: ["news"])
        try await fixture.addDevice(of: carol, handle: "c-1", tags: ["news"])
        try await self.claimHandle(of: carol, in: fixture)
        // A notification whose push was accepted, and which was fetched and marked as read.
        try await fixture.post(1, from: alice, to: "username:alice", "username:bob")
        for delivery in try await fixture.lease() { try await fixture.settle(delivery, as: .accepted(providerID: "p")) }
        let id = { (number: Int64) in try #require(NotificationID(rawValue: number)) }
        store.recordFetches(of: [try id(1)], by: bob.id, now: now)
        try await store.writeReceipts()
        _ = try await store.mark(id(1), as: .read, by: bob.id, now: now)
        // A read-once notification, fetched by one of two recipients.
        try await fixture.post(2, from: bob, to: "username:alice", "username:carol", isReadOnce: true)
        _ = try await store.lease(id(2), to: alice.id, until: now + 60, recording: nil, now: now)
        // A notification that replaces another, one with an idempotency key, a scheduled one, and
        // a dismissed one.
        for number: Int64 in 3...4 {
            try await fixture.post(number, from: alice, to: "username:bob", collapseID: "c")
        }
        try await fixture.post(5, from: alice, to: "username:bob", once: Self.request)
        try await fixture.post(6, from: alice, to: "username:bob", sendAt: now + 600)
        try await fixture.post(9, from: alice, to: "username:carol")
        _ = try await store.dismiss(id(9), by: carol.id, now: now)
        // A recall of a notification with more recipients than a page. The post to carol below is
        // a later change than the recall.
        try await fixture.post(8, from: bob, to: "username:alice", "username:bob", "username:carol")
        #expect(try await store.recall(id(8), by: .sender(bob.id), recording: nil, page: 1, now: now))
        // The server ends while these pushes are leased.
        _ = try await fixture.lease(limit: 2)
        try await fixture.post(10, from: alice, to: "username:carol")
        try await fixture.post(7, from: alice, to: "news", page: 1)
        _ = try await fixture.addUser("gone")
        _ = try await store.deleteUser(#require(Username("gone")))
        await store.close()
        return token
    }

    /// The hashes of an idempotency key and of the request with this key.
    static let request = IdempotentRequest(
        key: Data(repeating: 1, count: 16),
        request: Data(repeating: 2, count: 16)
    )

    /// Registers a handle, which then waits for its confirmation code.
    private func claimHandle(of user: User, in fixture: StoreFixture) async throws {
        let id = try await fixture.store.requestRegistration(ofUser: user.id, handle: nil, now: fixture.now)
        let registration = DeviceRegistration(
            platform: Platform("hook"),
            lane: Lane(Platform("hook")),
            handle: try #require(DeviceHandle("https://hook.example/1")),
            tags: [],
            confirmation: NotificationID(rawValue: 99)
        )
        let outcome = try await fixture.store.register(registration, as: id, for: user, now: fixture.now)
        #expect(outcome == .unconfirmed(hasWork: true))
        for delivery in try await fixture.lease("hook") {
            try await fixture.settle(delivery, as: .accepted(providerID: nil))
        }
    }
}

/// The results of a store's readers, for a comparison of two stores.
struct StoreAnswers: Hashable {
    var users: [UserEntry] = []
    var tags: [String: [PushCore.Tag]?] = [:]
    var pages: [String: [NotificationPage]] = [:]
    var found: [StoredNotification?] = []
    var deliveries: [[DeliveryEntry]] = []
    var devices: [String: [RegisteredDevice]] = [:]
    var registrations: [DeviceEntry] = []
    var tokens: [TokenEntry] = []
    var tallies: [String: Tally] = [:]
    var audit: [AuditEntry] = []
    var lastAuditNumber: Int64 = 0
    var events: [PushEvent] = []
    var schedule: Schedule?
    var sendTime: Date?

    init(_ fixture: StoreFixture) async throws {
        let (reader, now) = (fixture.reader, fixture.now)
        self.users = try await reader.users(after: nil, limit: 100)
        for name in ["alice", "bob", "carol"] {
            let user = try await fixture.user(name)
            self.tags[name] = try await reader.tags(ofUser: user.name)
            self.devices[name] = try await reader.devices(ofUser: user.id)
            self.pages[name] = try await Self.pages(of: user, fixture)
            for number in Int64(1)...10 {
                let id = NotificationID(rawValue: number)
                guard let id else { continue }
                self.found.append(try await reader.notification(id, for: user.id, alsoAsSender: true, now: now))
            }
        }
        for number in Int64(1)...10 {
            guard let id = NotificationID(rawValue: number) else { continue }
            self.deliveries.append(try await reader.deliveries(of: id, after: 0, limit: 100))
        }
        self.registrations = try await reader.deviceEntries(of: nil, after: nil, limit: 100)
        self.tokens = try await reader.tokens(of: nil, after: nil, limit: 100, now: now)
        self.tallies = try await reader.tallies()
        self.audit = try await reader.auditEntries(before: nil, limit: 100).sorted { $0.number < $1.number }
        self.lastAuditNumber = try await reader.lastAuditNumber()
        self.events = try await reader.events(after: nil, ofSender: nil, limit: 1000).events
        self.schedule = try await reader.schedule()
        self.sendTime = try await reader.sendTime(of: #require(NotificationID(rawValue: 6)))
    }

    /// Returns the pages of the user's list after change 0, and the page that a reader without a
    /// cursor gets.
    private static func pages(of user: User, _ fixture: StoreFixture) async throws -> [NotificationPage] {
        var pages: [NotificationPage] = []
        var cursors: [Int64?] = [nil, 0]
        while let cursor = cursors.popLast() {
            let page = try await fixture.reader.notifications(
                ChangeRange(after: cursor, limit: 2, isUnreadOnly: false),
                for: user.id,
                now: fixture.now,
                needsPayloads: { _ in true }
            )
            pages.append(page)
            if cursor != nil, !page.entries.isEmpty { cursors.append(page.end) }
        }
        return pages
    }
}

import Foundation
import PushCore
import PushStore
import PushTesting
import SQLite
import Testing

@testable import PushSQLite

/// Encrypted values in the database. A thief of the database cannot read them, and an attacker
/// cannot move them to another row.
@Suite(.timeLimit(.minutes(5))) struct EncryptionTests {
    private let fixture: StoreFixture

    init() throws {
        self.fixture = try StoreFixture()
    }

    /// Fills two rows of each encrypted column: users, devices, payloads, and running broadcasts.
    private func fill() async throws {
        for name in ["Margrethe", "Wilhelmina"] {
            let user = try await fixture.addUser(name, role: .publisher)
            let tags = [PushCore.Tag("radiology")].compactMap(\.self)
            #expect(try await fixture.store.setTags(Set(tags), ofUser: user.name, by: nil))
            for number in 0..<2 {
                try await fixture.addDevice(of: user, handle: "hndl-\(name)-\(number)", tags: ["cardiology"])
            }
            var alert = PushAlert()
            alert[.bodyKey] = "ECHO_RESULT"
            let (number, later) = (Int64(name.utf8.count), fixture.now + 60)
            try await fixture.post(number, from: user, to: "cardiology && !oncology", alert: alert, page: 1)
            try await fixture.post(100 + number, from: user, to: "pathology", alert: alert, sendAt: later)
        }
    }

    @Test func namesHandlesTagsAndExpressionsAreNowhereOnTheDisk() async throws {
        try await self.fill()
        #expect(try await fixture.lease(limit: 1).first?.push.handle == "hndl-Margrethe-0")
        let contents = try fixture.folder.contents()
        let words = [
            "Margrethe", "margrethe", "Wilhelmina", "hndl", "cardiology", "oncology", "pathology", "radiology",
            "payload 9", "ECHO_RESULT",
        ]
        for word in words {
            #expect(contents.range(of: Data(word.utf8)) == nil, "\(word)")
        }
        #expect(contents.range(of: Data("device".utf8)) != nil, "what is in clear is found")
    }

    @Test func unrecordedEncryptionsAreCountedNextTime() async throws {
        try await self.fill()
        let seals = fixture.store.vault.takeSeals()
        #expect(seals.values.reduce(0, +) > 10)
        fixture.store.vault.giveBack(seals)
        await fixture.store.close()
        await #expect(throws: StoreError.self) { try await fixture.store.writeSealCounts() }
        #expect(fixture.store.vault.takeSeals() == seals)
    }

    @Test func valueDecryptsInItsOwnRowAndColumnOnly() async throws {
        try await self.fill()
        let values = try await fixture.sqlite.writer.write { db in
            try SealedColumn.all.flatMap { column in
                try NamedRow.fetchAll(
                    db,
                    sql: "select \(column.key), \(column.bound), \(column.column) from \(column.table)"
                ).map { row in
                    let place = column.place(try row[0], try row[1])
                    return (place: try #require(place), sealed: try row[2] as Data)
                }
            }
        }
        #expect(values.count == 25)
        let vault = fixture.store.vault
        for (index, value) in values.enumerated() {
            _ = try vault.open(value.sealed, in: value.place)
            for (other, there) in values.enumerated() where other != index {
                #expect(throws: VaultError.unreadable) { try vault.open(value.sealed, in: there.place) }
            }
        }
    }

    @Test(arguments: [
        "update account set name = (select name from account u where u.id <> account.id)",
        "update device set handle = tags",
        "update device set tags = handle",
    ])
    func movedValueIsAnError(sql: String) async throws {
        try await self.fill()
        let user = try await fixture.user("Margrethe")
        try await fixture.sqlite.writer.write { try $0.execute(sql: sql) }
        await #expect(throws: StoreError.self) {
            _ = try await fixture.user("Margrethe")
            _ = try await fixture.reader.devices(ofUser: user.id)
        }
    }

    @Test func unreadableHandleFailsItsOwnPushesOnly() async throws {
        try await self.fill()
        try await fixture.sqlite.writer.write {
            try $0.execute(
                sql: "update device set handle = (select handle from device where number = 1) where number = 3"
            )
        }
        while try await fixture.store.expandFanout(page: 10, now: fixture.now) != nil {}
        #expect(try await fixture.lease().count == 6)
        #expect(try await fixture.reader.tallies()["apns"]?.failed == 2)
    }

    @Test func scheduledNotificationWithMovedExpressionsIsSetAside() async throws {
        try await self.fill()
        try await fixture.sqlite.writer.write { db in
            try db.execute(
                sql: """
                    update scheduled set expressions = (
                        select expressions from scheduled order by notification_id limit 1)
                    """
            )
        }
        fixture.clock.advance(by: 60)
        let release = try await fixture.store.releaseScheduled(now: fixture.now)
        #expect(release.sent.count == 1)
        #expect(release.nextDue == nil)
        #expect(fixture.store.report.setAside == 1)
        #expect(try await fixture.store.releaseScheduled(now: fixture.now) == Release())
        // The damaged row is deleted with the notification.
        fixture.clock.advance(by: 3600)
        while try await fixture.store.deleteExpired(now: fixture.now, page: 10) {}
        #expect(try await fixture.reader.schedule() == Schedule(count: 0, firstDue: nil))
    }

    @Test func broadcastWithMovedExpressionsIsSetAside() async throws {
        try await self.fill()
        try await fixture.sqlite.writer.write { db in
            try db.execute(sql: "update fanout set expressions = (select expressions from fanout order by 1 limit 1)")
        }
        while try await fixture.store.expandFanout(page: 10, now: fixture.now) != nil {}
        let (left, aside) = try await fixture.sqlite.writer.write { db in
            (
                try Int.fetchOne(db, sql: "select count(*) from fanout where not is_set_aside"),
                try Int.fetchOne(db, sql: "select count(*) from fanout where is_set_aside")
            )
        }
        #expect(left == 0)
        #expect(aside == 1)
        // The broadcasts must end, because `sealpost deliveries --wait` would otherwise wait until
        // they expire.
        for number: Int64 in [9, 10] {
            #expect(try await !fixture.reader.isFanningOut(#require(NotificationID(rawValue: number))))
        }
        #expect(fixture.store.report.setAside == 1)
    }

    @Test func usersAreListedPageByPageWithTheirNames() async throws {
        for number in 0..<5 { try await fixture.addUser("User\(number)") }
        var names: [String] = []
        var last: Username?
        while let page = Optional(try await fixture.reader.users(after: last, limit: 2)), let end = page.last {
            names += page.map(\.name.description)
            last = end.name
        }
        #expect(names.sorted() == (0..<5).map { "User\($0)" })
    }

    @Test func aUsersNumberIsNeverGivenOutTwice() async throws {
        try await fixture.addUser("alice")
        let bob = try await fixture.addUser("bob")
        _ = try await fixture.store.deleteUser(bob.name)
        #expect(try await fixture.addUser("carol").id == bob.id + 1)
        #expect(try await fixture.user("carol").name.description == "carol")
    }

    @Test func namesAreUniqueInAnyCase() async throws {
        try await fixture.addUser("Alice")
        let name = try #require(Username("aLICE"))
        let made = try await fixture.store.addUser(
            name,
            role: .admin,
            password: PasswordHash(phc: "x"),
            now: fixture.now
        )
        #expect(!made)
        #expect(try await fixture.user("ALICE").name.description == "Alice")
    }

    @Test func theHotQueriesUseTheirIndexes() async throws {
        let queries = [
            ("select id from account where name_key = x''", "sqlite_autoindex_account_1"),
            ("select 1 from device where platform = '' and handle_key = x'' and id <> ''", "device_by_handle"),
            ("select device from device_tag where tag = x'' and device > 0 order by device", "device_tag_by_tag"),
        ]
        for (query, index) in queries {
            let plan = try await fixture.sqlite.writer.write { db in
                try db.plan(of: query).joined()
            }
            #expect(plan.contains(index), "\(plan)")
        }
    }
}

import Foundation
import PostgreSQL
import PushCore
import PushStore
import PushTesting
import Testing

@testable import PushPostgreSQL

/// A store that was moved from SQLite to PostgreSQL gives the same answers as before, and
/// continues its work.
@Suite(.timeLimit(.minutes(5))) struct MoveTests {
    private let fixture: MoveFixture

    init() throws {
        self.fixture = try MoveFixture()
    }

    private func id(_ number: Int64) throws -> NotificationID { try #require(NotificationID(rawValue: number)) }

    private func list(_ fixture: StoreFixture, of name: String, after cursor: Int64) async throws -> NotificationPage {
        try await fixture.reader.notifications(
            ChangeRange(after: cursor, limit: 100, isUnreadOnly: false),
            for: try await fixture.user(name).id,
            now: fixture.now,
            needsPayloads: { _ in true }
        )
    }

    @Test func theMovedStoreGivesTheSameAnswers() async throws {
        _ = try await self.fixture.fill()
        let count = try await self.fixture.move()
        #expect(count > 50)
        let before = try self.fixture.source(admitsMoved: true)
        // A server returns leased pushes to the queue when it starts.
        try await before.store.reclaimLeases(now: before.now)
        let after = try self.fixture.target()
        let (old, new) = (try await StoreAnswers(before), try await StoreAnswers(after))
        #expect(old.users == new.users)
        #expect(old.tags == new.tags)
        #expect(old.pages == new.pages)
        #expect(old.found == new.found)
        #expect(old.deliveries == new.deliveries)
        #expect(old.devices == new.devices)
        #expect(old.registrations == new.registrations)
        #expect(old.tokens == new.tokens)
        #expect(old.tallies == new.tallies)
        #expect(old.audit == new.audit)
        #expect(old.lastAuditNumber == new.lastAuditNumber)
        #expect(old.events == new.events)
        #expect(old.schedule == new.schedule)
        #expect(old.sendTime == new.sendTime)
        #expect(new.found.count { $0 != nil } > 5 && new.audit.count > 1 && new.events.count > 1)
        #expect(try await after.reader.auditFault() == nil)
        await before.store.close()
        await after.store.close()
    }

    @Test func eachMovedTableHasARow() async throws {
        _ = try await self.fixture.fill()
        try await self.fixture.move()
        let connection = try self.fixture.connect()
        for table in MovedTable.names {
            #expect(try connection.query(MovedTable.finding(table))[0].boolean(0), "nothing in \(table)")
        }
    }

    @Test func clientsAndDevicesMissNothing() async throws {
        let token = try await self.fixture.fill()
        let before = try self.fixture.source()
        // Clients may have received this newest change as a cursor, even from a server that has
        // assigned no change number since its start.
        let cursor = try await before.reader.newestChange(ofUser: 0)
        await before.store.close()
        try await self.fixture.move()
        let after = try self.fixture.target()
        let (alice, now) = (try await after.user("alice"), after.now)
        #expect(try await after.reader.user(withToken: token.fingerprint, now: now)?.user == alice)
        // A post from before the move, repeated after the move, does not create another
        // notification.
        let repeated = try await after.post(55, from: alice, to: "username:bob", once: MoveFixture.request)
        guard case .repeated(let first, _, _, _) = repeated else {
            Issue.record("\(repeated)")
            return
        }
        #expect(first.rawValue == 5)
        for (name, number): (String, Int64) in [("alice", 101), ("bob", 102), ("carol", 103)] {
            try await after.post(number, from: alice, to: "username:\(name)")
            #expect(try await self.list(after, of: name, after: cursor).entries.map(\.id.rawValue) == [number])
        }
        // The numbers of deleted users and devices are not used again after the move.
        let ids = try await after.reader.devices(ofUser: alice.id).map(\.number)
        #expect(try await after.addUser("gone").id > 7)
        try await after.addDevice(of: alice, handle: "a-3")
        #expect(try #require(try await after.reader.devices(ofUser: alice.id).map(\.number).max()) > (ids.max() ?? 0))
        await after.store.close()
    }

    @Test func pendingWorkContinuesAfterTheMove() async throws {
        _ = try await self.fixture.fill()
        try await self.fixture.move()
        let after = try self.fixture.target()
        // After the move, leased pushes are due again, and the fan-out reaches the broadcast's
        // remaining devices.
        while try await after.store.expandFanout(page: 2, now: after.now) != nil {}
        let pushed = try await after.lease()
        #expect(Set(pushed.map(\.push.notification.rawValue)).isSuperset(of: [2, 4, 5, 7, 10]))
        #expect(!pushed.map(\.push.notification.rawValue).contains(8))
        #expect(
            pushed.filter { $0.push.notification.rawValue == 7 }.map(\.push.handle).sorted() == ["a-1", "b-1", "c-1"]
        )
        for delivery in pushed { try await after.settle(delivery, as: .accepted(providerID: nil)) }
        // The parked push, which waits for its device, becomes due when the device connects.
        let alice = try await after.user("alice")
        let stream = try #require(
            try await after.reader.devices(ofUser: alice.id).first { $0.platform == Platform("stream") }
        )
        #expect(try await after.store.makeDue(for: [stream.id], ofUser: alice.id, after: nil, now: after.now) > 0)
        // The lease of the read-once payload still ends at the same time as before the move.
        #expect(try await after.store.endLeases(now: after.now, limit: 10) == after.now + 60)
        // The scheduled notification is sent at its time.
        after.clock.advance(by: 600)
        #expect(try await after.store.releaseScheduled(now: after.now).sent == [try self.id(6)])
        // The looks (pushes that tell a device to sync) for the recall of notification 8 follow.
        let makeID = { @Sendable in NotificationID(rawValue: .random(in: 1000..<1 << 31)) }
        #expect(try await after.store.enqueueRecallLooks(page: 9, makeID: makeID, now: after.now) == 3)
        await after.store.close()
    }

    /// The SQLite store orders notifications with a collapse key by change numbers, and the
    /// PostgreSQL store by times. The move converts the numbers.
    @Test func aNewNotificationReplacesAMovedOneOfItsCollapseID() async throws {
        _ = try await self.fixture.fill()
        try await self.fixture.move()
        let after = try self.fixture.target()
        let alice = try await after.user("alice")
        try await after.post(11, from: alice, to: "username:bob", collapseID: "c")
        let numbers = try await after.lease().map(\.push.notification.rawValue)
        #expect(numbers.contains(11))
        #expect(!numbers.contains(4) && !numbers.contains(3))
        await after.store.close()
    }

    @Test func theAuditContinuesAfterItsLastEntry() async throws {
        _ = try await self.fixture.fill()
        try await self.fixture.move()
        let after = try self.fixture.target()
        let last = try await after.reader.lastAuditNumber()
        let name = try #require(Username("dora"))
        let actor = AuditRecord.Actor(name: name, token: nil, client: "192.0.2.1", request: "r")
        let record = AuditRecord(.addUser, of: "dora", by: actor, at: after.now + 1)
        _ = try await after.store.addUser(
            name,
            role: .device,
            password: PasswordHash(phc: "none"),
            by: record,
            now: after.now
        )
        #expect(try await after.reader.auditEntries(before: nil, limit: 1).map(\.number) == [last + 1])
        #expect(try await after.reader.auditFault() == nil)
        await after.store.close()
    }
}

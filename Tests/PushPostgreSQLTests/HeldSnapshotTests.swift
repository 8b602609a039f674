import Foundation
import PostgreSQL
import PushCore
import PushStore
import PushTesting
import Testing

@testable import PushPostgreSQL

/// Cleanup while another connection keeps a snapshot open. Because of the snapshot, the entries of
/// all deleted rows stay in the indexes.
@Suite(.timeLimit(.minutes(5))) struct HeldSnapshotTests {
    private static let devices = 6000
    private static let page = 200

    private let fixture: StoreFixture

    init() async throws {
        self.fixture = try StoreFixture(.postgreSQL)
    }

    /// Stores an expired broadcast with the outcomes of its pushes and with its recipients.
    private func store(_ connection: BlockingConnection, sender: User) throws {
        let now = self.fixture.now.milliseconds
        try connection.execute(
            """
            insert into notification (id, sender_id, is_stored_by_clients, is_read_once, priority, seed, created_at,
                    expires_at, payload)
                values (1, \(sender.id), true, false, 'high', 1, \(now - 2000), \(now - 1000), '\\x00');
            insert into push_end (notification_id, device, user_id, lane, is_bulk, state, attempts, settled_at)
                select 1, n, n, 'apns', true, 'accepted', 1, \(now - 1500) from generate_series(1, \(Self.devices)) n;
            insert into recipient (notification_id, user_id, change, changed_at, mac)
                select 1, n, 1, \(now - 2000), 0 from generate_series(1, \(Self.devices)) n
            """
        )
    }

    @Test func eachCleanupStepStartsWhereTheLastEnded() async throws {
        let store = self.fixture.store
        let sender = try await self.fixture.addUser("alice", role: .publisher)
        let address = try FolderDatabases.database(of: self.fixture.folder)
        let (reader, other) = (try BlockingConnection(address), try BlockingConnection(address))
        try self.store(other, sender: sender)
        try reader.execute("begin isolation level repeatable read")
        #expect(try reader.query("select count(*) from push_end")[0].integer(0) == Self.devices)
        let before = (try other.entriesRead(in: "push_end_pkey"), try other.entriesRead(in: "recipient_pkey"))
        var steps = 1
        while try await store.deleteExpired(now: self.fixture.now, page: Self.page) { steps += 1 }
        #expect(steps >= Self.devices * 2 / Self.page)
        await store.close()
        // Only the connection with the snapshot stays open.
        try await other.awaitEnd(ofOthersBut: 1)
        // The cleanup reads each row twice, to choose it and to delete it. If the cleanup also
        // read the entries of all deleted rows, it would read 15 times as many entries.
        let most = Int64(Self.devices * 3)
        #expect(try other.entriesRead(in: "push_end_pkey") - before.0 < most)
        #expect(try other.entriesRead(in: "recipient_pkey") - before.1 < most)
        for table in ["notification", "push_end", "recipient"] {
            #expect(try other.query("select count(*) from \(table)")[0].integer(0) == 0)
        }
        // The snapshot still sees all rows, so they are still in the indexes.
        #expect(try reader.query("select count(*) from push_end")[0].integer(0) == Self.devices)
    }
}

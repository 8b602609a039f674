import PushCore
import PushStore
import PushTesting
import SQLite
import Testing

@testable import PushSQLite

/// Reading a page of the administrators' lists must cost the same, however many devices are
/// stored.
@Suite(.timeLimit(.minutes(5))) struct DevicePlanTests {
    @Test(arguments: [
        (SQLiteReader.allDevices, "SEARCH d USING INTEGER PRIMARY KEY (rowid>?)"),
        (SQLiteReader.devicesOfOne, "SEARCH d USING INDEX device_by_user (user_id=? AND "),
        (SQLiteReader.deviceOfID, "SEARCH d USING INTEGER PRIMARY KEY (rowid=?)"),
        (SQLiteReader.deviceOfID, "SEARCH device USING INDEX sqlite_autoindex_device_1 (id=?)"),
        (SQLiteReader.claims, "SEARCH c USING INDEX device_by_user (user_id=?)"),
        (SQLiteReader.claims, "SEARCH f USING PRIMARY KEY (handle_key=?)"),
        (SQLiteReader.claims, "SEARCH d USING PRIMARY KEY (notification_id=? AND device=?)"),
        (SQLiteReader.usersAfter, "SEARCH d USING COVERING INDEX device_by_user (user_id=?)"),
        (SQLiteReader.usersAfter, "SEARCH r USING INDEX recipient_by_user (user_id=?)"),
    ])
    func aPageReadsOnlyItsRows(sql: String, step: String) async throws {
        let fixture = try StoreFixture()
        let plan = try await fixture.sqlite.writer.write { db in
            try db.plan(of: sql)
        }
        await fixture.store.close()
        #expect(plan.contains { $0.hasPrefix(step) }, "\(plan)")
        #expect(!plan.contains { $0.hasPrefix("SCAN") || $0.contains("TEMP B-TREE") }, "\(plan)")
    }
}

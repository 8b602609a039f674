import PushStore
import PushTesting
import SQLite
import Testing

@testable import PushSQLite

/// The rows of the audit, which nobody can change unnoticed.
@Suite(.timeLimit(.minutes(5))) struct AuditRowTests {
    private let fixture: StoreFixture

    init() throws {
        self.fixture = try StoreFixture()
    }

    /// Removes the triggers that forbid changes, and changes the table, as anybody who has the
    /// file can.
    private func tamper(_ sql: String) async throws {
        try await self.fixture.sqlite.writer.write { db in
            try db.execute(sql: "drop trigger audit_is_not_changed; drop trigger audit_is_not_deleted")
            try db.execute(sql: sql)
        }
    }

    private func fault() async throws -> Int64? {
        try await self.fixture.reader.auditFault()
    }

    @Test(arguments: [
        ("update audit set at = at + 1 where number = 2", 2),
        ("update audit set entry = (select entry from audit where number = 1) where number = 2", 2),
        ("update audit set link = zeroblob(32) where number = 3", 3),
        ("delete from audit where number = 2", 3), ("delete from audit where number = 1", 2),
        ("update audit set number = number + 1 where number = 5", 6),
        ("update audit_start set number = 1, link = (select link from audit where number = 1)", 0),
        ("delete from audit where number = 1; update audit_start set number = 1", 0),
        ("delete from audit_start", 0),
    ])
    func changedOrDeletedEntryIsFound(sql: String, number: Int64) async throws {
        try await self.fixture.addUsersWithRecords(5)
        try await self.tamper(sql)
        #expect(try await self.fault() == number)
    }

    @Test(arguments: [
        "update audit set at = 0", "update audit set link = zeroblob(32)", "update audit set number = number + 10",
        "delete from audit", "delete from audit where number = 2",
    ])
    func databaseRefusesToChangeTheAudit(sql: String) async throws {
        try await self.fixture.addUsersWithRecords(2)
        await #expect(throws: StoreError.self) {
            try await self.fixture.sqlite.writer.write { try $0.execute(sql: sql) }
        }
        #expect(try await self.fault() == nil)
        #expect(try await self.fixture.reader.lastAuditNumber() == 2)
    }
}

import Foundation
import PushStore
import PushTesting
import SQLite
import Testing

@testable import PushSQLite

/// Copies of the database that report their progress, and that can be cancelled.
@Suite(.timeLimit(.minutes(5))) struct RunningCopyTests {
    @Test func interruptedCopyEndsItsStatement() async throws {
        let copy = RunningCopy()
        let connection = try Connection()
        let endless = "with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c"
        await withTaskGroup(of: Void.self) { group in
            group.addTask { copy.interrupt() }
            let error = #expect(throws: DatabaseError.self) {
                try copy.during(connection) { try $0.read { _ = try Int.fetchOne($0, sql: endless) } }
            }
            #expect(error?.resultCode == .interrupt)
        }
    }

    @Test(arguments: [true, false])
    func interruptedCopyLeavesNoFile(whileCopying: Bool) async throws {
        let fixture = try StoreFixture(.sqlite)
        let path = fixture.folder.file("copy.db")
        let copy = RunningCopy()
        let database = SQLiteDatabase(path: fixture.folder.file("test.db"))
        #expect(throws: StoreError.self) {
            try database.backUp(to: path, keyring: fixture.keyring, as: copy) { step in
                if case .copying = step, !whileCopying { return }
                copy.interrupt()
            }
        }
        #expect(!FileManager.default.fileExists(atPath: path))
        #expect(!FileManager.default.fileExists(atPath: path + ".partial"))
        try database.backUp(to: path, keyring: fixture.keyring)
        await fixture.store.close()
    }

    /// The store itself counts the bytes that it reads. `/proc` does not show this number for a
    /// process that may not write core dumps.
    @Test func bytesReadByTheVerificationAreCounted() async throws {
        let fixture = try StoreFixture(.sqlite)
        try await fixture.sqlite.writer.write { db in
            try db.execute(
                sql: """
                    with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
                    insert into collapse select i, hex(zeroblob(100)), 0, 0 from n
                    """
            )
        }
        let copy = RunningCopy()
        let path = fixture.folder.file("copy.db")
        try SQLiteDatabase(path: fixture.folder.file("test.db")).backUp(to: path, keyring: fixture.keyring, as: copy)
        let size = try #require(try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int)
        #expect(size > 4_000_000)
        #expect((size...2 * size).contains(copy.bytesRead), "\(copy.bytesRead) of \(size)")
        await fixture.store.close()
    }

    @Test func killedCopyIsOverwrittenButARunningOneIsNot() async throws {
        let fixture = try StoreFixture(.sqlite)
        let path = fixture.folder.file("copy.db")
        let database = SQLiteDatabase(path: fixture.folder.file("test.db"))
        try Data(repeating: 7, count: 1 << 20).write(to: URL(filePath: path + ".partial"))
        try database.backUp(to: path, keyring: fixture.keyring) { step in
            guard case .verifying = step else { return }
            let error = #expect(throws: StoreError.self) { try database.backUp(to: path, keyring: fixture.keyring) }
            #expect(error?.description.contains("another copy is being written there") == true)
        }
        #expect(!FileManager.default.fileExists(atPath: path + ".partial"))
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        let inspection = try SQLiteDatabase(path: path).inspect()
        #expect(inspection.damage.isEmpty)
        await fixture.store.close()
    }

    /// At the place of the copy, another user may have put a link or a file.
    @Test func linkInPlaceOfACopyIsNotFollowed() async throws {
        let fixture = try StoreFixture(.sqlite)
        let path = fixture.folder.file("copy.db")
        let database = SQLiteDatabase(path: fixture.folder.file("test.db"))
        let other = fixture.folder.file("other")
        try Data("mine".utf8).write(to: URL(filePath: other))
        for make in [{ symlink(other, path + ".partial") }, { link(other, path + ".partial") }] {
            #expect(make() == 0)
            #expect(throws: StoreError.self) { try database.backUp(to: path, keyring: fixture.keyring) }
            #expect(try Data(contentsOf: URL(filePath: other)) == Data("mine".utf8))
            unlink(path + ".partial")
        }
        await fixture.store.close()
    }
}

import Foundation
import PushTesting
import SQLite
import Testing

@Suite("Connections to SQLite", .timeLimit(.minutes(1)))
struct ConnectionTests {
    private let folder: TemporaryFolder

    init() throws {
        self.folder = try TemporaryFolder()
    }

    @Test func readOnlyConnectionCreatesNoFile() throws {
        let path = self.folder.file("test.db")
        let error = #expect(throws: DatabaseError.self) { try Connection(path: path, isReadOnly: true) }
        #expect(error?.resultCode == .cannotOpen)
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func otherFileThanADatabaseIsRefused() throws {
        let path = self.folder.file("picture")
        try Data(repeating: 65, count: 4096).write(to: URL(fileURLWithPath: path))
        let error = #expect(throws: DatabaseError.self) { try Connection(path: path) }
        #expect(error?.message == "file is not a database")
    }

    @Test func closedConnectionRefusesStatements() throws {
        let connection = try Connection(path: self.folder.file("test.db"))
        try connection.close()
        try connection.close()
        connection.interrupt()
        #expect(throws: DatabaseError.self) { try connection.write { try $0.execute(sql: "create table a (b)") } }
        #expect(throws: DatabaseError.self) { try connection.read { try Int.fetchOne($0, sql: "select 1") } }
        #expect(throws: DatabaseError.self) { try connection.exclusively { try $0.checkpoint(.truncate) } }
    }

    @Test func interruptEndsTheRunningStatement() throws {
        let connection = try Connection()
        let endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select i from n"
        let error = #expect(throws: DatabaseError.self) {
            try connection.exclusively { db in
                // A statement locks the connection, but another thread must still be able to
                // interrupt it.
                _ = try db.all(SQL(sql: endless)) { _ in connection.interrupt() }
            }
        }
        #expect(error?.resultCode == .interrupt)
        #expect(try connection.read { try Int.fetchOne($0, sql: "select 1") } == 1)
    }
}

import PushTesting
import SQLite
import Testing

@Suite("Transactions of SQLite", .timeLimit(.minutes(1)))
struct TransactionTests {
    private let connection: Connection

    init() throws {
        self.connection = try Connection()
        try self.connection.exclusively {
            try $0.execute(sql: "create table item (id integer primary key, name text unique)")
        }
    }

    private struct Failure: Error {}

    private func names() throws -> [String] {
        try self.connection.read { try String.fetchAll($0, sql: "select name from item order by name") }
    }

    @Test func transactionIsCommitted() throws {
        try self.connection.write { try $0.execute(sql: "insert into item (name) values ('a')") }
        #expect(try self.names() == ["a"])
    }

    @Test func errorRollsBackTheTransaction() throws {
        #expect(throws: Failure.self) {
            try self.connection.write { db in
                try db.execute(sql: "insert into item (name) values ('a')")
                throw Failure()
            }
        }
        #expect(try self.names().isEmpty)
        #expect(!self.connection.exclusively { $0.isInsideTransaction })
    }

    @Test func errorRollsBackItsSavepointAlone() throws {
        try self.connection.write { db in
            try db.execute(sql: "insert into item (name) values ('a')")
            let failed = Result {
                try db.inSavepoint {
                    try db.execute(sql: "insert into item (name) values ('b')")
                    throw Failure()
                }
            }
            #expect(throws: Failure.self) { try failed.get() }
            try db.inSavepoint { try db.execute(sql: "insert into item (name) values ('c')") }
        }
        #expect(try self.names() == ["a", "c"])
    }

    /// `insert or rollback` ends the transaction, as a full disk would.
    @Test func noStatementRunsAfterSQLiteRolledBackTheTransaction() throws {
        let error = #expect(throws: DatabaseError.self) {
            try self.connection.write { db in
                try db.execute(sql: "insert into item (name) values ('a')")
                try? db.execute(sql: "insert or rollback into item (name) values ('a')")
                try db.run("insert into item (name) values (?)", "b")
            }
        }
        #expect(error?.resultCode == .abort)
        #expect(try self.names().isEmpty)
        // The next transaction must succeed.
        try self.connection.write { try $0.execute(sql: "insert into item (name) values ('c')") }
        #expect(try self.names() == ["c"])
    }

    @Test func transactionThatSQLiteRolledBackIsNotReportedAsCommitted() throws {
        let error = #expect(throws: DatabaseError.self) {
            try self.connection.write { db in
                try db.execute(sql: "insert into item (name) values ('a')")
                try? db.execute(sql: "insert or rollback into item (name) values ('a')")
            }
        }
        #expect(error?.resultCode == .abort)
    }

    @Test func readCannotWrite() throws {
        #expect(throws: DatabaseError.self) {
            try self.connection.read { try $0.execute(sql: "insert into item (name) values ('a')") }
        }
        try self.connection.write { try $0.execute(sql: "insert into item (name) values ('b')") }
        #expect(try self.names() == ["b"])
    }
}

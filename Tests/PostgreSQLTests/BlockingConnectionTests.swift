import Foundation
import PostgreSQL
import PushTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct BlockingConnectionTests {
    private struct Refusal: Error {}

    @Test func statementsAndScriptsRun() throws {
        let address = try PostgreSQLCluster.shared.newDatabase()
        let connection = try BlockingConnection(address)
        try connection.execute("create table t(n int8, b bytea); insert into t values (1, 'x')")
        _ = try connection.query("insert into t(n, b) values ($1, $2)", 2, Data([1, 2]))
        let rows = try connection.query("select n, b from t where n = any($1) order by n", [1, 2])
        #expect(try rows.map { try $0.integer(0) } == [1, 2])
        #expect(try rows[1].data(1) == Data([1, 2]))
        #expect(throws: DatabaseError.self) { try connection.execute("create table u(n int8); selec") }
        #expect(try connection.query("select to_regclass('u') is null").first?.boolean(0) == true)
        try PostgreSQLCluster.shared.drop(address)
    }

    @Test func aTransactionIsStoredOnlyIfItSucceeds() throws {
        let address = try PostgreSQLCluster.shared.newDatabase()
        let connection = try BlockingConnection(address)
        try connection.execute("create table t(n int8)")
        try connection.transaction { _ = try connection.query("insert into t values (1)") }
        #expect(throws: Refusal.self) {
            try connection.transaction {
                _ = try connection.query("insert into t values (2)")
                throw Refusal()
            }
        }
        #expect(throws: DatabaseError.self) {
            try connection.transaction { _ = try? connection.query("insert into nowhere values (3)") }
        }
        #expect(try connection.query("select n from t").map { try $0.integer(0) } == [1])
        try PostgreSQLCluster.shared.drop(address)
    }

    @Test func anUnreachableServerIsUnavailable() throws {
        let address = try DatabaseAddress("postgres://127.0.0.1:1/x")
        let error = #expect(throws: DatabaseError.self) { try BlockingConnection(address) }
        #expect(error?.isUnavailable == true)
    }

    @Test func aCopyOfADatabaseHasItsTables() throws {
        let original = try PostgreSQLCluster.shared.newDatabase()
        try BlockingConnection(original).execute("create table t(n int8)")
        let copy = try PostgreSQLCluster.shared.newDatabase(from: original)
        #expect(try BlockingConnection(copy).query("select n from t").count == 0)
    }
}

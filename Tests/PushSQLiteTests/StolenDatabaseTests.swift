import Foundation
import PushStore
import PushTesting
import SQLite
import Testing

@testable import PushSQLite

/// The documentation of what a thief of the database can read must list every column.
@Suite(.timeLimit(.minutes(5))) struct StolenDatabaseTests {
    @Test func documentedColumnsAndTheirEncryptionAreRight() async throws {
        let fixture = try StoreFixture()
        let columns = try await fixture.sqlite.writer.write { db in
            try String.fetchAll(
                db,
                sql: """
                    select t.name || '.' || c.name from sqlite_schema t, pragma_table_info(t.name) c
                    where t.type = 'table' and t.name not like 'sqlite_%'
                    """
            )
        }
        let page = try self.columns()
        #expect(columns.count > 50)
        #expect(Set(columns).subtracting(page.keys).sorted() == [], "not in the page")
        #expect(Set(page.keys).subtracting(columns).sorted() == [], "no such column")
        let sealed = Set(SealedColumn.all.map { "\($0.table).\($0.column)" })
        #expect(Set(page.filter { $0.value == "encrypted" }.keys).subtracting(["index_secret.id"]) == sealed)
    }

    /// Returns the description of each column, by `table.column`. If a line has several columns,
    /// all belong to the table of the first column.
    private func columns() throws -> [String: String] {
        var columns: [String: String] = [:]
        let page = try Repository.text(of: "docs/stolen-database.md")
        for line in page.split(separator: "\n") where line.hasPrefix("| `") {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            let names = cells[0].matches(of: #/`([a-z_.*]+)`/#).map { String($0.output.1) }
            let table = try #require(names.first?.split(separator: ".").first)
            for name in names { columns[name.contains(".") ? name : "\(table).\(name)"] = cells[1] }
        }
        return columns
    }
}

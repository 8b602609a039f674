import Migrations
import PostgreSQL
import PushStore
import PushTesting
import SQLite
import Testing

@testable import PushPostgreSQL
@testable import PushSQLite

/// Each table and column of both kinds of stores is moved, or listed here with the reason why it
/// is not.
@Suite(.timeLimit(.minutes(5))) struct MovedTableTests {
    private static let notFromSQLite = [
        "migration": "each kind of store has its own",
        "moved": "tells that it was moved",
        "audit_start.id": "the only row",
        "parking": "an index that PostgreSQL has as one: push_by_device",
        "push.is_withdrawn": "of a push that is settled; a push that is not keeps it",
    ]

    private static let notToPostgreSQL = [
        "migration": "each kind of store has its own",
        "schema_state": "has a lock",
        "move": "tells of the move",
        "node": "the processes that run",
        "stream": "their event streams",
        "epoch": "counts what ends while several of them run",
        "account_end": "what has ended while several of them ran",
        "limit_news": "what they tell each other",
        "day_chain": "recognises the secret of day keys, which SQLite has none of",
        "day_key_holder": "who has that secret",
        "lane_rest": "what providers have asked of them",
        "lane_pause": "which of them probes a provider that fails",
        "recall": "recalls that have not come to all recipients: those of SQLite have",
        "removal": "kept in memory there: not known after a start",
        "account.version": "begins at 1",
        "push.owner": "nobody sends while it is moved",
    ]

    /// While this folder lasts, its database does, too.
    private let folder: TemporaryFolder
    private let place: PostgreSQLPlace

    init() throws {
        self.folder = try TemporaryFolder()
        self.place = try #require(StoreKind.postgreSQL.place(self.folder) as? PostgreSQLPlace)
    }

    @Test func eachTableOfSQLiteIsRead() async throws {
        let columns = try Connection().exclusively { db in
            try Schema.prepare(db)
            return try String.fetchAll(
                db,
                sql: """
                    select t.name || '.' || c.name from sqlite_schema t, pragma_table_info(t.name) c
                    where t.type = 'table' and t.name not like 'sqlite_%'
                    """
            )
        }
        // The move itself has no selections from `audit_start` and `change_number`. It computes
        // the row of the audit's hash chain, and passes the upper bound of the change numbers as a
        // parameter.
        let statements =
            try await self.place.asMoveTarget { try $0.tables().compactMap(\.selection) } + [
                "number, link, mac from audit_start", "id, reserved from change_number",
            ]
        for column in columns where Self.notFromSQLite[column] == nil {
            let parts = column.split(separator: ".").map(String.init)
            let (table, name) = (try #require(parts.first), try #require(parts.last))
            if Self.notFromSQLite[table] != nil { continue }
            let isRead = statements.contains { sql in
                let words = sql.split { !$0.isLetter && !$0.isNumber && $0 != "_" }
                let hasTable = zip(words, words.dropFirst()).contains { word, next in
                    (word == "from" || word == "join") && next == table
                }
                return hasTable && words.contains { $0 == name }
            }
            #expect(isRead, "\(column) is not moved")
        }
    }

    @Test func eachTableOfPostgreSQLIsFilled() async throws {
        let connection = try self.place.connected { $0 }
        let columns = try connection.query(
            """
            select c.relname::text, a.attname::text from pg_class c
            join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
            where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = 'public'::regnamespace
            """
        ).map { (table: try $0.text(0), column: try $0.text(1)) }
        #expect(columns.count > 100)
        let filled = try await self.place.asMoveTarget { try $0.tables() }
        for (table, column) in columns {
            if Self.notToPostgreSQL[table] != nil || Self.notToPostgreSQL["\(table).\(column)"] != nil { continue }
            let moved = filled.first { $0.name == table }
            #expect(moved?.columns.contains { $0.name == column } == true, "\(table).\(column) is not filled")
        }
    }
}

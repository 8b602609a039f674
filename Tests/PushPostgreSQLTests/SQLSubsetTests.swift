import Foundation
import PushTesting
import Testing

/// Checks that the statements use only the SQL subset in `docs/scale.md`, which other database
/// engines with PostgreSQL's protocol support.
///
/// The test reads the sources, so that it also checks statements that no test runs.
@Suite(.timeLimit(.minutes(5))) struct SQLSubsetTests {
    private static let types: Set = ["int8", "bigint", "text", "bytea", "boolean"]

    private static let functions: Set = [
        "unnest", "count", "sum", "min", "max", "coalesce", "greatest", "least", "length", "substr", "extract",
        "clock_timestamp",
    ]

    /// Words that are no function calls, although a parenthesis may follow them.
    private static let keywords: Set = [
        "all", "and", "any", "array", "as", "by", "check", "conflict", "else", "exists", "filter", "from", "in", "join",
        "key", "lateral", "not", "on", "or", "select", "set", "then", "unique", "using", "values", "when", "where",
        "with",
    ]

    /// Features that some of the other engines lack, or support without effect. `docs/scale.md`
    /// lists them with reasons.
    private static let forbidden: Set = [
        "trigger", "procedure", "language", "nextval", "currval", "serial", "bigserial", "pg_advisory_lock",
        "pg_advisory_xact_lock", "enum", "domain", "references", "foreign", "cascade", "savepoint",
        "json", "jsonb", "xmin", "ctid", "merge", "truncate", "inherits", "temp", "temporary",
    ]

    /// Files that ask the database server about itself, for operators or at the start. Only these
    /// files may call these functions.
    private static let inquiries: [String: Set<String>] = [
        "Announcements.swift": ["pg_notify"],
        // Each connection asks on which timeline its database server writes.
        "ClusterIdentity.swift": [
            "pg_control_system", "pg_walfile_name", "pg_current_wal_insert_lsn", "current_setting", "set_config",
            "quote_ident", "array_remove", "current_schemas", "pg_backend_pid",
        ],
        "BlockingConnection+pooler.swift": ["pg_backend_pid"],
        "PostgreSQLStore+health.swift": [
            "string_agg", "quote_ident", "to_regclass", "pg_wal_lsn_diff", "pg_current_wal_lsn", "inet_client_addr",
            "inet_server_addr", "pg_stat_get_live_tuples",
        ],
        // A move from SQLite reads the columns, and sets the next values of the identity columns.
        "PostgreSQLMoveTarget.swift": [
            "pg_get_serial_sequence", "regclass", "setval", "format_type", "to_regclass", "array_position", "int2",
        ],
        "Schema.swift": ["to_regclass", "current_setting"],
        "SchemaOwnership.swift": [
            "current_database", "current_schema", "pg_has_role", "has_schema_privilege", "has_table_privilege",
            "to_regclass", "oid", "quote_ident", "pg_my_temp_schema",
        ],
        "SchemaComparison.swift": [
            "current_schema", "pg_my_temp_schema", "format_type", "pg_get_expr", "pg_get_indexdef",
            "pg_get_constraintdef", "pg_get_function_identity_arguments",
        ],
    ]

    @Test func noStatementLeavesTheSubset() throws {
        let statements = try Self.statements()
        // A smaller number would mean that the test has not found all statements in the sources.
        #expect(statements.count > 200)
        for statement in statements {
            let faults = Self.faults(of: statement)
            #expect(faults.isEmpty, "\(statement.file): \(faults) in \(statement.sql)")
        }
    }

    @Test(arguments: [
        ("create trigger t after insert on push", "trigger"),
        ("select nextval('push_number')", "nextval"),
        ("select pg_try_advisory_lock(1)", "pg_try_advisory_lock"),
        ("select entry::jsonb from audit", "jsonb"),
        ("select now()", "now"), ("select unnest($1)", "unnest without pg_catalog"),
        ("select x from pg_catalog.unnest($1) as u (x)", ""),
        ("select x from unnest($1, $2) as u (x, y)", ""),
        ("select count(a) from pg_catalog.unnest($1) as u (a)", "count without pg_catalog"),
        ("with a as (update push set owner = 1), b as (delete from push where owner = 2) select 1", "push"),
        ("insert into push (device) select 1 on conflict do nothing; update push set owner = 1", ""),
    ])
    func aStatementOutsideTheSubsetIsFound(sql: String, word: String) {
        #expect(Self.faults(of: Statement(file: "X.swift", sql: sql)) == (word.isEmpty ? [] : [word]))
    }

    // MARK: - Private

    private struct Statement {
        let file: String
        let sql: String
    }

    private static func faults(of statement: Statement) -> [String] {
        let sql = statement.sql.replacing(/'[^']*'/, with: "''")
        let words = Set(sql.matches(of: /\b[a-z_][a-z0-9_]*\b/).map { String($0.0) })
        let types = sql.matches(of: /::\s*([a-z0-9_]+)/).map { String($0.1) }
        // A name and a parenthesis after one of these words are a table and its columns, and not a
        // function call.
        let calls = sql.replacing(/\b(?:into|table|exists|as|on)\s+[a-z_]+\s*\(|\.[a-z]+\(/, with: "$(")
            .matches(of: /\b([a-z_][a-z0-9_]*)\s*\(/).map { String($0.1) }
        let known = self.functions.union(self.keywords).union(self.inquiries[statement.file] ?? [])
        var faults = words.intersection(self.forbidden)
        faults.formUnion(Set(types).subtracting(self.types).subtracting(known))
        faults.formUnion(Set(calls).subtracting(known))
        faults.formUnion(self.tablesWrittenTwice(by: sql))
        // PostgreSQL prefers a function for one type to one for all types, so it could call
        // another role's function. Released migrations may not change, so they are not checked.
        if statement.file.hasSuffix(".swift") {
            // With several arguments, PostgreSQL always uses the `unnest` of `pg_catalog`.
            let single = /(pg_catalog\.)?\b(unnest|count)\s*\((?!\*)(?:[^(),]|\([^()]*\))*\)/
            for match in sql.matches(of: single) where match.1 == nil {
                faults.insert("\(match.2) without pg_catalog")
            }
        }
        return faults.sorted()
    }

    /// Returns the tables that one statement writes more than once.
    private static func tablesWrittenTwice(by sql: String) -> [String] {
        sql.split(separator: ";").flatMap { one in
            let tables = one.matches(of: /\b(?:insert into|delete from|update)\s+([a-z_]+)/).map { String($0.1) }
                .filter { !["set", "skip", "of"].contains($0) }
            return Dictionary(grouping: tables, by: \.self).filter { $0.value.count > 1 }.map(\.key)
        }
    }

    /// Returns the statements of the store and of its schema. The file of a migration is split
    /// into its statements.
    private static func statements() throws -> [Statement] {
        let sources = try ["Sources/PushPostgreSQL", "Sources/PostgreSQL"].flatMap { folder in
            try Repository.files(under: folder, ending: ".swift").flatMap { file, text in
                Self.literals(in: text).map { Statement(file: file, sql: $0) }
            }
        }
        let migrations = try Repository.files(under: "Migrations/postgresql", ending: ".sql").flatMap { file, text in
            text.replacing(/--[^\n]*/, with: "").split(separator: ";").map { Statement(file: file, sql: String($0)) }
        }
        return sources + migrations
    }

    /// Returns the string literals that look like parts of statements, without their interpolated
    /// values.
    private static func literals(in source: String) -> [String] {
        let code = source.replacing(/(?m)^\s*\/\/.*$/, with: "")
        let long = code.matches(of: /(?s)"""\n(.*?)"""/).map { String($0.1) }
        let short = code.replacing(/(?s)"""\n.*?"""/, with: "")
            .matches(of: /"((?:[^"\\\n]|\\.)*)"/)
            .map { String($0.1) }
        return (long + short)
            .map { $0.replacing(/\\\((?:[^()]|\([^()]*\))*\)/, with: "x") }
            .filter { $0.contains(/\b(select|insert into|update|delete from|create|alter|with|where|for update)\b/) }
            .filter { $0.contains(/\b(from|set|table|index|values|=|select)\b/) }
    }
}

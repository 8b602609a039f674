internal import CSQLite
internal import Cryptography
internal import Foundation
internal import Migrations
internal import PushStore
internal import SQLite
internal import Synchronization

/// Compares a database's schema with the schema that its migrations make. So it detects triggers
/// and views that somebody else has added, and whose code the server's statements would run.
enum SchemaComparison {
    struct Object: Hashable, Comparable, CustomStringConvertible {
        let type: String
        let name: String
        let table: String
        let sql: String

        var description: String {
            // The name is cut to 100 characters, since somebody else may have chosen a longer one.
            self.name == self.table
                ? "\(self.type) \(self.name.prefix(100))"
                : "\(self.type) \(self.name.prefix(100)) on \(self.table.prefix(100))"
        }

        static func < (left: Self, right: Self) -> Bool {
            (left.table, left.type, left.name) < (right.table, right.type, right.name)
        }

        func isNamed(as other: Self) -> Bool {
            self.type == other.type && self.name == other.name && self.table == other.table
        }

        /// The object without the comments in its SQL, since they may differ between versions.
        var withoutComments: Self {
            Self(type: self.type, name: self.name, table: self.table, sql: self.sql.withoutComments)
        }
    }

    /// The digest of the schema that all migrations make. A database with this digest needs no
    /// comparison, which would run all migrations and take longer than most commands.
    ///
    /// Another release of SQLite may write the SQL in another form. Such a database is compared.
    static let newest = "+yujI/CHE/iGfwQjQ5wWiFgcUssdgPvQIY3JxIlWkew="

    /// The objects that each list of migrations makes, by the hashes of the migrations. A process
    /// computes the objects of a list only once.
    private static let known = Mutex<[[Data]: Set<Object>]>([:])

    /// Prevents SQL in the file from calling functions with side effects, and statements from
    /// writing to `sqlite_schema`.
    static func distrustSchema(_ db: Database) throws {
        let code = csqlite_distrust_schema(db.handle)
        guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
    }

    /// Throws a `StoreError` that lists the differences. Checks nothing if the file is empty.
    ///
    /// Also checks nothing if a migration of the database is not in `migrations`, or has changed.
    static func check(_ db: Database, _ migrations: [Migration]) throws {
        let all = try Self.objects(db)
        if all.isEmpty { return }
        guard all.contains(where: { $0.type == "table" && $0.name == "migration" }) else {
            throw StoreError.unusable(reason: "the file is not a database of sealpost")
        }
        let applied = try Schema.applied(db)
        guard applied.unknown(migrations) == nil, applied.changed(migrations) == nil else { return }
        if applied.hashes.count == Migration.all.count, Self.digest(all) == Self.newest { return }
        let found = Set(all.map(\.withoutComments))
        // The order of the migrations' runs matters, since it determines the order of columns.
        let names = try db.all("select name from migration order by rowid") { try $0.text() }
        let expected = try Self.expected(of: names.compactMap { name in migrations.first { $0.name == name } })
        if found == expected { return }
        let (added, missing) = (found.subtracting(expected).sorted(), expected.subtracting(found).sorted())
        throw StoreError.changedSchema(
            changed: added.filter { object in missing.contains(where: object.isNamed) }.map(\.description),
            added: added.filter { object in !missing.contains(where: object.isNamed) }.map(\.description),
            missing: missing.filter { object in !added.contains(where: object.isNamed) }.map(\.description)
        )
    }

    /// The digest of a schema. The length before each text separates the texts.
    static func digest(_ objects: [Object]) -> String {
        let texts = objects.flatMap { [$0.type, $0.name, $0.table, $0.sql] }.map { "\($0.utf8.count):\($0)" }
        return Data(SHA256.hash(data: Data(texts.joined().utf8))).base64EncodedString()
    }

    // MARK: - Private

    private static func expected(of migrations: [Migration]) throws -> Set<Object> {
        let hashes = migrations.map(\.hash)
        if let objects = Self.known.withLock({ $0[hashes] }) { return objects }
        let objects = try Connection().exclusively { db in
            try Schema.prepare(db, migrations)
            return Set(try Self.objects(db).map(\.withoutComments))
        }
        Self.known.withLock { $0[hashes] = objects }
        return objects
    }

    /// The objects of the schema, in a fixed order. Tables of `analyze` are left out, since they
    /// can have no triggers.
    static func objects(_ db: Database) throws -> [Object] {
        let sql = """
            select type, name, tbl_name, coalesce(sql, '') as sql from main.sqlite_schema
            where not (type = 'table' and name in ('sqlite_stat1', 'sqlite_stat4')) order by type, name, tbl_name, sql
            """
        return try db.all(SQL(sql: sql)) {
            try Object(type: $0.text("type"), name: $0.text("name"), table: $0.text("tbl_name"), sql: $0.text("sql"))
        }
    }
}

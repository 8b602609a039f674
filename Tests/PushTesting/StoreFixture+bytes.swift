package import Foundation
internal import PostgreSQL
internal import PushPostgreSQL
internal import PushSQLite

/// The stored bytes, in which tests search for values in clear.
extension StoreFixture {
    /// Returns all bytes that remain of a closed store: the bytes of its files or, for PostgreSQL,
    /// of all rows that a query finds.
    package func remains() throws -> Data {
        guard self.store is PostgreSQLStore else { return try self.folder.contents() }
        return try self.connect().rows().reduce(into: Data()) { $0.append($1) }
    }

    /// Returns the bytes of SQLite's files, or PostgreSQL's rows and the files of its tables and
    /// indexes after a checkpoint. These files may contain values of deleted rows.
    ///
    /// Leaves out the write-ahead log of PostgreSQL, its backups and its replicas.
    package func bytesAtRest() throws -> [Data] {
        guard self.store is PostgreSQLStore else { return try self.sqlite.bytesAtRest().map(\.bytes) }
        let connection = try self.connect()
        let rows = try connection.rows()
        try connection.execute("checkpoint")
        return rows + (try connection.files())
    }
}

extension BlockingConnection {
    /// Returns the values of all rows of each table.
    fileprivate func rows() throws -> [Data] {
        try self.query(PostgreSQLStore.columns).map { row in
            let (table, columns) = (try row.text(0), try row.text(1))
            let bytes = try self.query("select string_agg(\(columns), '\\x0a'::bytea) from \(table)")
            return try bytes[0].optionalData(0) ?? Data()
        }
    }

    /// Returns the files of the tables, their indexes, and the TOAST tables that contain their
    /// long values.
    fileprivate func files() throws -> [Data] {
        let paths = try self.query(
            """
            with t as (
                select c.oid, c.reltoastrelid from pg_class c
                where c.relkind = 'r' and c.relname <> 'node'
                    and c.relnamespace = (select m.relnamespace from pg_class m where m.oid = to_regclass('migration')))
            select pg_relation_filepath(r.oid) from pg_class r
            where (r.oid in (select oid from t) or r.oid in (select reltoastrelid from t)
                    or r.oid in (select i.indexrelid from pg_index i join t on i.indrelid in (t.oid, t.reltoastrelid)))
                and pg_relation_filepath(r.oid) is not null
            order by r.relname
            """
        ).map { try $0.text(0) }
        return try paths.map { path in
            let bytes = try self.query("select pg_read_binary_file($1, 0, $2, true)", path, Int64(1) << 29)
            return try bytes[0].optionalData(0) ?? Data()
        }
    }
}

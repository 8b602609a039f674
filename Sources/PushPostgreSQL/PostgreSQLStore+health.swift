package import Foundation
internal import PostgreSQL
package import PushStore
internal import Synchronization

extension PostgreSQLStore {
    /// The reason why the store cannot work: it is closed, it lacks a data key, or the database
    /// has not answered for some seconds. `nil` if the store works.
    package var failure: String? {
        if self.condition.isClosed { return StoreError.closedReason }
        if let lack = self.keys.lack { return lack }
        return self.membership.isAlive ? nil : "the database has not answered for some seconds"
    }

    package var refusal: String? {
        self.database.fault?.summary ?? (self.keys.lack == nil ? nil : "this server lacks a data key")
    }

    package var isFull: Bool { self.condition.shared.isFull }

    /// The figures of the store's report. The write-ahead log and its checkpoints belong to the
    /// PostgreSQL server, so the report has no figures for them.
    package var report: StoreReport {
        var report = StoreReport()
        report.waiting = self.condition.waiting.load(ordering: .relaxed) + self.posts.waiting
        report.receiptsWaiting = self.receipts.count
        report.receiptsDropped = self.receipts.dropped
        report.setAside = self.condition.shared.setAside
        report.commits = self.condition.shared.commits
        return report
    }

    /// The values of all rows of each table. If the role may read files (`pg_read_server_files`),
    /// also the files of the tables and indexes after a checkpoint. These files may contain values
    /// of deleted rows.
    ///
    /// Does not read the server's write-ahead log, backups or replicas. Blocks until the database
    /// answers.
    package func bytesAtRest() throws -> [(name: String, bytes: Data)] {
        let connection = try BlockingConnection(self.address)
        let rows = try Self.rows(connection)
        do {
            try connection.execute("checkpoint")
            return rows + (try Self.files(connection))
        } catch DatabaseError.refused(code: "42501", _) {
            return rows
        }
    }

    /// The values of all rows of each table: everything that a query can find. Blocks until the
    /// database answers.
    package func rows() throws -> [(name: String, bytes: Data)] { try Self.rows(BlockingConnection(self.address)) }

    // MARK: - Private

    private static func rows(_ connection: BlockingConnection) throws -> [(name: String, bytes: Data)] {
        try connection.query(Self.columns).map { row in
            let (table, columns) = (try row.text(0), try row.text(1))
            let bytes = try connection.query("select string_agg(\(columns), '\\x0a'::bytea) from \(table)")
            return (name: "The rows of \(table)", bytes: try bytes[0].optionalData(0) ?? Data())
        }
    }

    private static func files(_ connection: BlockingConnection) throws -> [(name: String, bytes: Data)] {
        try connection.query(Self.relations).map { row in
            let (name, path) = (try row.text(0), try row.text(1))
            let bytes = try connection.query("select pg_read_binary_file($1, 0, $2, true)", path, Int64(1) << 29)
            return (name: "The file of \(name)", bytes: try bytes[0].optionalData(0) ?? Data())
        }
    }

    /// Selects each table, and an SQL expression for all bytes of one of its rows: `bytea` as it
    /// is, and other types as text. Leaves out `node`, whose rows change even without a request.
    static let columns = """
        select c.relname::text, string_agg(
            'coalesce(' || case a.atttypid when 17 then quote_ident(a.attname)
                else 'convert_to(' || quote_ident(a.attname) || '::text, ''UTF8'')' end || ', ''''::bytea)',
            ' || ''\\x20''::bytea || ' order by a.attnum)
        from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        where c.relkind = 'r' and c.relname <> 'node'
            and c.relnamespace = (select m.relnamespace from pg_class m where m.oid = to_regclass('migration'))
        group by c.relname order by c.relname
        """

    /// Selects the tables, their indexes, and the TOAST tables that contain their long values.
    static let relations = """
        with t as (
            select c.oid, c.reltoastrelid from pg_class c
            where c.relkind = 'r' and c.relname <> 'node'
                and c.relnamespace = (select m.relnamespace from pg_class m where m.oid = to_regclass('migration')))
        select r.relname::text, pg_relation_filepath(r.oid) from pg_class r
        where (r.oid in (select oid from t) or r.oid in (select reltoastrelid from t)
                or r.oid in (select i.indexrelid from pg_index i join t on i.indrelid in (t.oid, t.reltoastrelid)))
            and pg_relation_filepath(r.oid) is not null
        order by r.relname
        """
}

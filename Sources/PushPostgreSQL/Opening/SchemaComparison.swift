internal import Migrations
internal import PostgreSQL
internal import PushStore
internal import Synchronization

/// Compares the database's catalog with the objects that the migrations create. If somebody else
/// has added a trigger, a rule or a default, the server's statements would run that person's code.
enum SchemaComparison {
    /// The objects that each list of migrations creates, by the names of the migrations. A process
    /// computes the objects of a list only once.
    private static let known = Mutex<[[String]: Set<String>]>([:])

    /// Throws a `StoreError` that lists the differences. Checks nothing if the database has
    /// migrations that this program does not know.
    static func check(_ connection: BlockingConnection, _ migrations: [Migration]) throws {
        let applied = try Schema.applied(connection).hashes
        let known = migrations.filter { applied[$0.name] != nil }
        guard !known.isEmpty, known.count == applied.count else { return }
        let expected = try Self.expected(of: known, connection)
        let tables = expected.filter { $0.hasPrefix("table ") }.map { String($0.dropFirst("table ".count)) }
        let found = Set(try connection.query(Self.objects(in: "current_schema()"), tables).map { try $0.text() })
        let added = found.subtracting(expected).sorted()
        let missing = expected.subtracting(found).sorted()
        if added.isEmpty, missing.isEmpty { return }
        throw StoreError.changedSchema(added: added, missing: missing)
    }

    // MARK: - Private

    private static func expected(of migrations: [Migration], _ connection: BlockingConnection) throws -> Set<String> {
        let names = migrations.map(\.name)
        if let objects = Self.known.withLock({ $0[names] }) { return objects }
        let objects = try Self.made(by: migrations, connection)
        Self.known.withLock { $0[names] = objects }
        return objects
    }

    /// Runs the migrations on temporary tables, which vanish when the transaction ends.
    private static func made(by migrations: [Migration], _ connection: BlockingConnection) throws -> Set<String> {
        try connection.execute("begin")
        let objects = Result { try Self.run(migrations, connection) }
        try connection.execute("rollback")
        switch objects {
        case .success(let objects): return objects
        case .failure(let error):
            guard (error as? DatabaseError)?.code == "42501" else { throw error }
            throw StoreError.unusable(
                reason: "\(error): the role needs the right to make temporary tables (grant temporary on database)"
            )
        }
    }

    private static func run(_ migrations: [Migration], _ connection: BlockingConnection) throws -> Set<String> {
        try connection.execute("set local search_path = pg_temp")
        try connection.execute(Schema.ownTables)
        for migration in migrations { try connection.execute(migration.sql) }
        let schema = "(select n.nspname from pg_namespace n where n.oid = pg_my_temp_schema())"
        let tables = try connection.query(
            """
            select c.relname::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
            where n.nspname = \(schema) and c.relkind = 'r'
            """
        )
        let names = try tables.map { try $0.text() }
        return Set(try connection.query(Self.objects(in: schema), names).map { try $0.text() })
    }

    /// Selects one line for each object that can influence a statement on one of the tables in
    /// `$1`. Other tables, and objects that belong to extensions, are left out.
    private static func objects(in schema: String) -> String {
        """
        with s as (select n.oid from pg_namespace n where n.nspname = \(schema)),
        t as (
            select c.oid, c.relname::text as name, c.relrowsecurity from pg_class c join s on s.oid = c.relnamespace
            where c.relkind = 'r' and c.relname = any($1))
        select 'table ' || t.name from t
        union all
        select 'column ' || t.name || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
            || case when a.attnotnull then ' not null' else '' end || ' ' || a.attidentity::text || a.attgenerated::text
            || coalesce(' collate ' || o.collname, '') || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '')
        from t join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
        left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
        left join pg_collation o on o.oid = a.attcollation
        union all
        select 'index ' || pg_get_indexdef(i.indexrelid, 0, true) || case when i.indisvalid then '' else ' invalid' end
        from t join pg_index i on i.indrelid = t.oid
        union all
        select 'constraint ' || c.conname || ' on ' || t.name || ' ' || pg_get_constraintdef(c.oid, true)
        from t join pg_constraint c on c.conrelid = t.oid where c.contype <> 'n'
        union all
        select 'trigger ' || g.tgname || ' on ' || t.name from t join pg_trigger g on g.tgrelid = t.oid
        where not g.tgisinternal
        union all
        select 'rule ' || r.rulename || ' on ' || t.name from t join pg_rewrite r on r.ev_class = t.oid
        union all
        select 'policy ' || p.polname || ' on ' || t.name from t join pg_policy p on p.polrelid = t.oid
        union all
        select 'row security of ' || t.name from t where t.relrowsecurity
        union all
        select 'a table that inherits ' || t.name from t join pg_inherits h on h.inhparent = t.oid
        union all
        select 'function ' || p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ')'
        from pg_proc p join s on s.oid = p.pronamespace
        where not exists (
            select 1 from pg_depend e where e.classid = p.tableoid and e.objid = p.oid and e.deptype = 'e')
        union all
        select 'operator ' || p.oprname from pg_operator p join s on s.oid = p.oprnamespace
        where not exists (
            select 1 from pg_depend e where e.classid = p.tableoid and e.objid = p.oid and e.deptype = 'e')
        """
    }
}

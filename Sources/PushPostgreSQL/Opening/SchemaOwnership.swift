internal import PostgreSQL
internal import PushStore

/// Checks whether roles other than the server's can create objects in the schema, or write to its
/// tables. Also checks which rights the server's own role lacks in this schema.
///
/// If another role could create a function or a trigger there, the server would run that code with
/// the server's rights.
enum SchemaOwnership {
    /// Throws a `StoreError` that lists the rights of other roles, or those that the server's role
    /// lacks on its own tables. Ignores superusers, the database's owner, and roles that include
    /// the server's role: all of these have every right anyway.
    static func check(_ connection: BlockingConnection) throws {
        let all = try connection.query(Self.foreignRights).map { try $0.text() }
        // A right of all roles is listed once, for `public`, and not for each role.
        let ofPublic = all.filter { $0.hasPrefix("public ") }
        let rights = ofPublic.isEmpty ? all : ofPublic
        if rights.isEmpty { return try self.checkOwnRights(connection) }
        throw StoreError.unusable(
            reason: """
                other roles can change what the server runs: \(rights.prefix(5).joined(separator: ", ")); revoke that, or give \
                the server a schema of its own (docs/scale.md)
                """
        )
    }

    /// Throws `DatabaseError.unusable`, with a remedy, if the server's role may not create tables.
    ///
    /// Since PostgreSQL 15, only the database's owner may create tables in `public`. If no schema
    /// in `search_path` exists, the current schema is that of temporary tables.
    static func checkCreation(_ connection: BlockingConnection) throws {
        let row = try connection.query(Self.creation)[0]
        if try row.flag("may_create") { return }
        let (role, database, schema) = (try row.text("role"), try row.text("database"), try row.text("schema"))
        let fault =
            schema.isEmpty
            ? "finds no schema of its search_path in the database \(database), or may not use it"
            : "may not create tables in the schema \(schema) of the database \(database)"
        var remedy = "give the role a schema of its own, as docs/scale.md does"
        if schema == "public" {
            remedy = "run `alter database \(database) owner to \(role)` as an administrator, or \(remedy)"
        }
        throw DatabaseError.unusable(reason: "the role \(role) \(fault): \(remedy)")
    }

    /// Selects the rights that the server's role lacks on its own tables, and the role.
    static let lackingRights = """
        select p.name || ' on the table ' || c.relname::text as lack, quote_ident(current_user) as role
        from pg_class c, (values ('SELECT'), ('INSERT'), ('UPDATE'), ('DELETE')) as p (name)
        where c.relkind = 'r' and pg_has_role(c.relowner, 'usage') and not has_table_privilege(c.oid, p.name)
            and c.relnamespace = (select m.relnamespace from pg_class m where m.oid = to_regclass('migration'))
        order by c.relname, p.name
        """

    // MARK: - Private

    private static func checkOwnRights(_ connection: BlockingConnection) throws {
        let lacking = try connection.query(Self.lackingRights)
        guard let role = try lacking.first?.text("role") else { return }
        let rights = try lacking.prefix(5).map { try $0.text("lack") }.joined(separator: ", ")
        throw StoreError.unusable(reason: "the role \(role) lacks \(rights): give it these rights (docs/scale.md)")
    }

    private static let creation = """
        select quote_ident(current_user) as role, quote_ident(current_database()) as database,
            coalesce(quote_ident(n.nspname), '') as schema,
            coalesce(has_schema_privilege(n.oid, 'create'), false) as may_create
        from (select 1) as one left join pg_namespace n
            on n.nspname = current_schema() and n.oid <> pg_my_temp_schema()
        """

    /// Selects the rights of other roles. The role with the number 0 is `public`, so its rights
    /// are those of all roles.
    private static let foreignRights = """
        with stranger as (
            select r.oid, r.rolname::text as name from pg_roles r
            where not r.rolsuper and r.rolname <> current_user and r.rolname not like 'pg\\_%'
                and r.oid <> (select d.datdba from pg_database d where d.datname = current_database())
                and (not pg_has_role(current_user, r.oid, 'member')
                    or (select m.rolsuper from pg_roles m where m.rolname = current_user))
            union all select 0::oid, 'public'),
        place as (
            select n.oid, n.nspname::text as name, n.nspowner from pg_namespace n
            where n.nspname = current_schema() and n.oid <> pg_my_temp_schema()),
        relation as (
            select c.oid, c.relname::text as name, c.relowner from pg_class c join place p on p.oid = c.relnamespace
            where c.relkind in ('r', 'p', 'S') and to_regclass('migration') is not null)
        select s.name || ' owns the schema ' || p.name from place p join stranger s on s.oid = p.nspowner
        union all
        select s.name || ' may create in the schema ' || p.name from place p, stranger s
        where has_schema_privilege(s.oid, p.oid, 'create') and s.oid <> p.nspowner
        union all
        select s.name || ' owns ' || r.name from relation r join stranger s on s.oid = r.relowner
        union all
        select s.name || ' may write to ' || r.name from relation r, stranger s
        where s.oid <> r.relowner and has_table_privilege(s.oid, r.oid, 'insert, update, delete, truncate, references, trigger')
        """
}

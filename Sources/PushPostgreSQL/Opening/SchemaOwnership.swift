internal import PostgreSQL
internal import PushStore

/// Checks whether roles other than the server's can create objects in the schema, or write to its
/// tables.
///
/// The server would call a function of such a role, and run the code of its trigger with the
/// server's own rights.
enum SchemaOwnership {
    /// Throws `StoreError` with the rights of other roles. Ignores superusers, the database's
    /// owner, and roles that the server's role is a member of: they have all rights anyway.
    static func check(_ connection: BlockingConnection) throws {
        let all = try connection.query(Self.foreignRights).map { try $0.text(0) }
        // If all roles have a right, lists it once for `public` instead of for each role.
        let ofPublic = all.filter { $0.hasPrefix("public ") }
        let rights = ofPublic.isEmpty ? all : ofPublic
        if rights.isEmpty { return }
        throw StoreError.failed(
            reason: """
                other roles can change what the server runs: \(rights.prefix(5).joined(separator: ", ")); revoke that, or give \
                the server a schema of its own (docs/scale.md)
                """
        )
    }

    // MARK: - Private

    /// The number 0 stands for `public`, the rights of all roles.
    private static let foreignRights = """
        with stranger as (
            select r.oid, r.rolname::text as name from pg_roles r
            where not r.rolsuper and r.rolname <> current_user and r.rolname not like 'pg\\_%'
                and r.oid <> (select d.datdba from pg_database d where d.datname = current_database())
                and (not pg_has_role(current_user, r.oid, 'member')
                    or (select m.rolsuper from pg_roles m where m.rolname = current_user))
            union all select 0::oid, 'public'),
        place as (select n.oid, n.nspname::text as name, n.nspowner from pg_namespace n where n.nspname = current_schema()),
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

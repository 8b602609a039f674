internal import PostgreSQL
internal import PushStore

extension WriteTransaction {
    /// Draws change numbers for each of these users, and locks the users' counters until the
    /// transaction ends. Unused numbers do no harm, since the range of numbers is large enough.
    ///
    /// Returns the first number of each user; the user's further numbers follow it without a gap.
    func changes(ofUsers users: some Sequence<Int64>, each count: Int = 1) async throws -> [Int64: Int64] {
        let users = Set(users).sorted()
        return users.isEmpty ? [:] : try Self.numbers(await self.query(Self.nextChanges, users, count))
    }

    /// Decodes rows of two numbers, such as a user and the first change number that was drawn for
    /// the user.
    static func numbers(_ rows: Rows) throws -> [Int64: Int64] {
        Dictionary(try rows.map { (try $0.integer(0), try $0.integer(1)) }) { first, _ in first }
    }

    /// Draws change numbers. A number is at least the time since 1970 in units of 2⁻³⁰ s, as in
    /// `PostgreSQLStore.newest`. So a database that was restored from a backup does not assign
    /// the same numbers again. Locks the rows in the order of the users' ids.
    private static let nextChanges = WriteTransaction.nextChanges(
        ofUsers: "pg_catalog.unnest($1::int8[]) as u (user_id)"
    )

    static func nextChanges(ofUsers users: String) -> String {
        """
        insert into user_change as c (user_id, change)
        select u.user_id, (extract(epoch from clock_timestamp()) * 1073741824)::int8 + $2 - 1
        from \(users) order by u.user_id
        on conflict (user_id) do update set change = greatest(c.change + $2, excluded.change)
        returning user_id, change - $2 + 1
        """
    }
}

internal import PostgreSQL
internal import PushStore

extension WriteTransaction {
    /// Draws numbers of changes, for some users several, and locks the users' counters until the transaction ends.
    ///
    /// Returns each user's first number; a user's other numbers follow it without a gap.
    func numbers(_ counts: [Int64: Int]) async throws -> [Int64: Int64] {
        guard !counts.isEmpty else { return [:] }
        let numbers = try await self.changes(ofUsers: counts.keys.sorted())
        let (users, last) = counts.filter { $0.value > 1 }.reduce(into: ([Int64](), [Int64]())) { lists, count in
            guard let first = numbers[count.key] else { return }
            lists.0.append(count.key)
            lists.1.append(first + Int64(count.value) - 1)
        }
        if !users.isEmpty {
            // The counters are locked already, so their order does not matter any more.
            _ = try await self.query(
                """
                update user_change c set change = t.change from unnest($1::int8[], $2::int8[]) as t (user_id, change)
                where c.user_id = t.user_id
                """,
                users,
                last
            )
        }
        return numbers
    }
}

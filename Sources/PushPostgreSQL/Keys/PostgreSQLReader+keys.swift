internal import PostgreSQL
package import PushStore

extension PostgreSQLReader {
    package func countSealed() async throws(StoreError) -> Int {
        try await self.read(Self.sealed) { rows in Int(clamping: try rows.first?.integer(0) ?? 0) }
    }

    private static let sealed =
        "select "
        + SealedColumn.all(usersIn: "account").map { "(select count(*) from \($0.table))" }.joined(separator: " + ")
}

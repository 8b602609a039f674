import SQLite

extension Database {
    /// The steps of a query's plan, which does not depend on the values of its parameters.
    func plan(of sql: String) throws -> [String] {
        let statement = try self.makeStatement(sql: "explain query plan " + sql)
        let nulls = Array(repeating: Int64?.none, count: statement.parameterCount)
        return try withExtendedLifetime(statement) {
            try statement.rows(nulls).all { $0.text(3) }
        }
    }
}

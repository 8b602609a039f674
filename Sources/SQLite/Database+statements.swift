internal import CSQLite

/// Functions that run one statement. `values` are the values of its parameters, after those that
/// its text interpolates.
///
/// Each connection compiles a statement at the first call with its text, and keeps it. If texts
/// contained values instead of parameters, this would cost memory and time.
extension Database {
    /// Runs a statement that writes; returns the number of rows that it has changed.
    @discardableResult
    package func run(_ sql: SQL, _ values: any Bindable...) throws -> Int {
        let row = try self.rows(sql, values)
        while try row.step() {}
        return self.handle.map { Int(sqlite3_changes($0)) } ?? 0
    }

    /// The first row of a statement, decoded; `nil` if it has no row.
    ///
    /// A statement that writes must return at most one row.
    package func first<Result>(
        _ sql: SQL,
        _ values: any Bindable...,
        decode: (borrowing DirectRow) throws -> Result
    ) throws -> Result? {
        let row = try self.rows(sql, values)
        return try row.step() ? decode(row) : nil
    }

    /// Whether a statement returns a row.
    package func exists(_ sql: SQL, _ values: any Bindable...) throws -> Bool {
        try self.rows(sql, values).step()
    }

    /// All rows of a statement, decoded.
    package func all<Result>(
        _ sql: SQL,
        _ values: any Bindable...,
        decode: (borrowing DirectRow) throws -> Result
    ) throws -> [Result] {
        try self.rows(sql, values).all(decode)
    }

    /// All rows, decoded, of a statement whose text varies, and which is therefore compiled at
    /// each call.
    package func all<Result>(composed sql: SQL, decode: (borrowing DirectRow) throws -> Result) throws -> [Result] {
        let statement = try self.makeStatement(sql: sql.text)
        return try withExtendedLifetime(statement) { try statement.rows(sql.arguments).all(decode) }
    }

    /// The rows of a statement, before the first of them.
    package func rows(_ sql: SQL, _ values: [any Bindable] = []) throws -> DirectRow {
        try self.cachedStatement(sql: sql.text).rows(sql.arguments.isEmpty ? values : sql.arguments + values)
    }
}

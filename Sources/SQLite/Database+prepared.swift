extension Database {
    /// Runs a statement that writes; returns the number of rows that it has changed.
    ///
    /// Each connection compiles the statement at the first call with this text, and keeps it. If
    /// texts contained values instead of parameters, this would cost memory and time. Throws
    /// `DatabaseError`.
    @discardableResult
    package func run(prepared sql: String, _ values: any Bindable...) throws -> Int {
        try self.run(SQL(sql: sql, arguments: values))
    }

    /// Runs a statement that is compiled once. Returns its first row, decoded; `nil` if it has no
    /// row.
    ///
    /// A statement that writes must return at most one row.
    package func first<Result>(
        prepared sql: String,
        _ values: any Bindable...,
        decode: (borrowing DirectRow) throws -> Result
    ) throws -> Result? {
        try self.first(SQL(sql: sql, arguments: values), decode: decode)
    }

    /// Whether a statement that is compiled once returns a row.
    package func exists(prepared sql: String, _ values: any Bindable...) throws -> Bool {
        try self.exists(SQL(sql: sql, arguments: values))
    }

    /// Runs a statement that is compiled once. Returns all its rows, decoded.
    package func all<Result>(
        prepared sql: String,
        _ values: any Bindable...,
        decode: (borrowing DirectRow) throws -> Result
    ) throws -> [Result] {
        try self.all(SQL(sql: sql, arguments: values), decode: decode)
    }

    /// Runs a statement row by row, until the last row, or until `isGoingOn` returns `false`. The
    /// statement is compiled once.
    package func step(prepared sql: String, isGoingOn: () -> Bool) throws {
        try self.bound(SQL(sql: sql)).forEach { _ in isGoingOn() }
    }

    /// Runs a statement that is compiled once. Calls `body` with each row.
    package func each(
        prepared sql: String,
        values: [any Bindable] = [],
        body: (borrowing DirectRow) throws -> Void
    ) throws {
        try self.bound(SQL(sql: sql, arguments: values)).each(body)
    }

    /// Runs a statement whose text varies, and which is therefore compiled at each call. Calls
    /// `body` with each row.
    package func each(composed sql: SQL, body: (borrowing DirectRow) throws -> Void) throws {
        let compiled = try self.makeStatement(sql: sql.text)
        try withExtendedLifetime(compiled) { try compiled.rows(sql.arguments).each(body) }
    }

    /// Runs a statement whose text varies. Returns all its rows, decoded.
    package func all<Result>(composed sql: SQL, decode: (borrowing DirectRow) throws -> Result) throws -> [Result] {
        let compiled = try self.makeStatement(sql: sql.text)
        return try withExtendedLifetime(compiled) { try compiled.rows(sql.arguments).all(decode) }
    }
}

/// Functions for statements with interpolated values. The values become parameters, so each
/// statement is compiled only once.
extension Database {
    /// Runs a statement that writes; returns the number of rows that it has changed.
    @discardableResult
    package func run(_ sql: SQL) throws -> Int {
        try self.bound(sql).forEach { _ in true }
        return self.changesCount
    }

    /// The first row of a statement, decoded; `nil` if it has no row.
    package func first<Result>(_ sql: SQL, decode: (borrowing DirectRow) throws -> Result) throws -> Result? {
        try self.bound(sql).map(decode)
    }

    /// Whether the statement returns a row.
    package func exists(_ sql: SQL) throws -> Bool { try self.first(sql) { _ in true } ?? false }

    /// All rows of a statement, decoded.
    package func all<Result>(_ sql: SQL, decode: (borrowing DirectRow) throws -> Result) throws -> [Result] {
        try self.bound(sql).all(decode)
    }

    private func bound(_ sql: SQL) throws -> DirectRow { try self.cachedStatement(sql: sql.text).rows(sql.arguments) }
}

extension Database {
    /// Runs a statement that writes; returns how many rows it changed.
    ///
    /// The statement is compiled once for each connection and kept with its text. So a text that
    /// contains values instead of parameters costs memory and time. Throws `DatabaseError`.
    @discardableResult
    package func run(prepared sql: String, _ values: any Bindable...) throws -> Int {
        try self.run(SQL(sql: sql, arguments: values))
    }

    /// The first row of a statement that is compiled once, decoded; `nil` if there is none.
    ///
    /// A statement that writes must return one row at most.
    package func first<Result>(
        prepared sql: String,
        _ values: any Bindable...,
        decode: (borrowing DirectRow) throws -> Result
    ) throws -> Result? {
        try self.first(SQL(sql: sql, arguments: values), decode: decode)
    }

    /// All rows of a statement that is compiled once, decoded.
    package func all<Result>(
        prepared sql: String,
        _ values: any Bindable...,
        decode: (borrowing DirectRow) throws -> Result
    ) throws -> [Result] {
        try self.all(SQL(sql: sql, arguments: values), decode: decode)
    }

    /// Steps through a statement that is compiled once, until the last row, or until `isGoingOn`
    /// returns `false`.
    package func step(prepared sql: String, isGoingOn: () -> Bool) throws {
        try self.bound(SQL(sql: sql)).forEach { _ in isGoingOn() }
    }

    /// Calls `body` with each row of a statement that is compiled once.
    package func each(
        prepared sql: String,
        values: [any Bindable] = [],
        body: (borrowing DirectRow) throws -> Void
    ) throws {
        try self.bound(SQL(sql: sql, arguments: values)).each(body)
    }

    /// Calls `body` with each row of a statement whose text varies; it is compiled at each call.
    package func each(composed sql: SQL, body: (borrowing DirectRow) throws -> Void) throws {
        let compiled = try self.makeStatement(sql: sql.text)
        try withExtendedLifetime(compiled) { try compiled.rows(sql.arguments).each(body) }
    }

    /// All rows of a statement whose text varies, decoded.
    package func all<Result>(composed sql: SQL, decode: (borrowing DirectRow) throws -> Result) throws -> [Result] {
        let compiled = try self.makeStatement(sql: sql.text)
        return try withExtendedLifetime(compiled) { try compiled.rows(sql.arguments).all(decode) }
    }
}

/// Statements with interpolated values, which become parameters; these statements are compiled
/// once, too.
extension Database {
    /// Runs a statement that writes; returns how many rows it changed.
    @discardableResult
    package func run(_ sql: SQL) throws -> Int {
        try self.bound(sql).forEach { _ in true }
        return self.changesCount
    }

    /// The first row, decoded; `nil` if there is none.
    package func first<Result>(_ sql: SQL, decode: (borrowing DirectRow) throws -> Result) throws -> Result? {
        try self.bound(sql).map(decode)
    }

    /// Whether the statement has a row.
    package func exists(_ sql: SQL) throws -> Bool { try self.first(sql) { _ in true } ?? false }

    /// All rows, decoded.
    package func all<Result>(_ sql: SQL, decode: (borrowing DirectRow) throws -> Result) throws -> [Result] {
        try self.bound(sql).all(decode)
    }

    private func bound(_ sql: SQL) throws -> DirectRow { try self.cachedStatement(sql: sql.text).rows(sql.arguments) }
}

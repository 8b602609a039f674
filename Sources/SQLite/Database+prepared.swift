extension Database {
    /// Runs a statement that writes; returns how many rows it changed.
    ///
    /// The statement is compiled once for each connection and kept with its text. So a text that
    /// contains values instead of parameters costs memory and time. Throws `DatabaseError`.
    @discardableResult
    package func run(prepared sql: String, _ values: any Bindable...) throws -> Int {
        try self.bound(sql, values).forEach { _ in true }
        return self.changesCount
    }

    /// The first row of a statement that is compiled once, decoded; `nil` if there is none.
    ///
    /// A statement that writes must return one row at most.
    package func first<Result>(
        prepared sql: String,
        _ values: any Bindable...,
        decode: (borrowing DirectRow) throws -> Result
    ) throws -> Result? {
        try self.bound(sql, values).map(decode)
    }

    /// All rows of a statement that is compiled once, decoded.
    package func all<Result>(
        prepared sql: String,
        _ values: any Bindable...,
        decode: (borrowing DirectRow) throws -> Result
    ) throws -> [Result] {
        var results: [Result] = []
        try self.each(prepared: sql, values: values) { results.append(try decode($0)) }
        return results
    }

    /// Steps through a statement that is compiled once, until the last row, or until `isGoingOn`
    /// returns `false`.
    package func step(prepared sql: String, isGoingOn: () -> Bool) throws {
        try self.bound(sql, []).forEach { _ in isGoingOn() }
    }

    /// Calls `body` with each row of a statement that is compiled once.
    package func each(
        prepared sql: String,
        values: [any Bindable] = [],
        body: (borrowing DirectRow) throws -> Void
    ) throws {
        try self.bound(sql, values).forEach { row in
            try body(row)
            return true
        }
    }

    /// Calls `body` with each row of a statement whose text varies; it is compiled at each call.
    package func each(composed sql: SQL, body: (borrowing DirectRow) throws -> Void) throws {
        let compiled = try self.makeStatement(sql: sql.text)
        try withExtendedLifetime(compiled) {
            try compiled.rows(sql.arguments).forEach { row in
                try body(row)
                return true
            }
        }
    }

    /// All rows of a statement whose text varies, decoded.
    package func all<Result>(composed sql: SQL, decode: (borrowing DirectRow) throws -> Result) throws -> [Result] {
        var results: [Result] = []
        try self.each(composed: sql) { results.append(try decode($0)) }
        return results
    }

    private func bound(_ sql: String, _ values: [any Bindable]) throws -> DirectRow {
        try self.cachedStatement(sql: sql).rows(values)
    }
}

/// Statements with interpolated values, which become parameters; these statements are compiled
/// once, too.
extension Database {
    /// Runs a statement that writes; returns how many rows it changed.
    @discardableResult
    package func run(_ sql: SQL) throws -> Int {
        try self.bound(sql.text, sql.arguments).forEach { _ in true }
        return self.changesCount
    }

    /// The first row, decoded; `nil` if there is none.
    package func first<Result>(_ sql: SQL, decode: (borrowing DirectRow) throws -> Result) throws -> Result? {
        try self.bound(sql.text, sql.arguments).map(decode)
    }

    /// Whether the statement has a row.
    package func exists(_ sql: SQL) throws -> Bool { try self.first(sql) { _ in true } ?? false }

    /// All rows, decoded.
    package func all<Result>(_ sql: SQL, decode: (borrowing DirectRow) throws -> Result) throws -> [Result] {
        var results: [Result] = []
        try self.each(prepared: sql.text, values: sql.arguments) { results.append(try decode($0)) }
        return results
    }
}

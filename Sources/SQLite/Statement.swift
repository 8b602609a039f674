internal import CSQLite

/// A compiled statement of one connection. It must not outlive its `Database`.
package final class Statement {
    package let handle: OpaquePointer?

    /// Compiles the first statement of a text. `rest` becomes the text after this statement.
    init(_ text: UnsafePointer<CChar>, in connection: OpaquePointer?, rest: inout UnsafePointer<CChar>?) throws {
        var handle: OpaquePointer?
        let code = sqlite3_prepare_v2(connection, text, -1, &handle, &rest)
        guard code == SQLITE_OK else { throw DatabaseError(of: connection, code) }
        // The handle is `nil` if the text has only blanks and comments.
        self.handle = handle
    }

    deinit {
        sqlite3_finalize(self.handle)
    }

    /// Runs a statement without parameters, and discards its rows.
    func execute() throws {
        if self.handle != nil { try self.rows([]).forEach { _ in true } }
    }

    package var parameterCount: Int { Int(sqlite3_bind_parameter_count(self.handle)) }

    /// The rows of the statement. `arguments` must contain one value for each of its parameters.
    package func rows(_ arguments: [any Bindable]) throws -> DirectRow {
        guard let handle, arguments.count == self.parameterCount else {
            throw DatabaseError.otherParameters
        }
        for (index, value) in arguments.enumerated() { value.bind(to: handle, at: Int32(index + 1)) }
        return DirectRow(handle)
    }
}

/// The failure of a statement or a transaction.
///
/// The texts are for the log: they contain neither parameters nor stored values.
package enum DatabaseError: Error, Sendable, Hashable {
    /// The server refused the statement, and nothing of its transaction is stored. `code` is the
    /// SQLSTATE.
    case refused(code: String, message: String)
    /// The client could reach no server that accepts writes; nothing is stored.
    case unavailable(reason: String)
    /// The client must not use the server, its pooler or its role as they are configured; nothing
    /// is stored.
    case unusable(reason: String)
    /// After the statements were sent, the connection was lost, or the server confirmed them with
    /// a warning. So their changes may or may not be stored.
    case unknownOutcome(reason: String)
    /// Too many statements wait on the connection, or a transaction has waited too long for a
    /// connection.
    case busy
    /// A column has another type than the code expects, or is null.
    case badColumn(Int32)
    /// A result has no column with this name.
    case noColumn(String)
}

extension DatabaseError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .refused(let code, let message): "the database refused a statement: \(message) (SQLSTATE \(code))"
        case .unavailable(let reason): "the database is unavailable: \(reason)"
        case .unusable(let reason): "the database cannot be used: \(reason)"
        case .unknownOutcome(let reason): "the database may or may not have stored a transaction: \(reason)"
        case .busy: "the database is busy: too many statements wait"
        case .badColumn(let column): "column \(column) of a result has another type than expected, or is null"
        case .noColumn(let name): "a result has no column \(name)"
        }
    }
}

extension DatabaseError {
    /// The SQLSTATE of the server's refusal of a statement; `nil` for another error.
    package var code: String? {
        if case .refused(let code, _) = self { code } else { nil }
    }

    /// Whether the transaction can succeed if it runs again from its beginning. `true` after a
    /// serialization failure, a deadlock, a lock timeout, or several waits for locks that together
    /// took too long (57014).
    var isConflict: Bool {
        guard case .refused(let code, _) = self else { return false }
        return code == "40001" || code == "40P01" || code == "55P03" || code == "57014"
    }

    /// Whether a migration has changed the columns of the prepared statement.
    var isStalePlan: Bool {
        self.code == "0A000"
    }

    var isLostConnection: Bool {
        if case .unavailable = self { true } else { false }
    }
}

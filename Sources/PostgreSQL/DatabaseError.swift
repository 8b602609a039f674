/// The failure of a statement or a transaction.
///
/// Its texts are for the log: they contain neither parameters nor stored values.
package enum DatabaseError: Error, Sendable, Hashable {
    /// The server refused the statement; nothing of its transaction is stored. `code`: the
    /// SQLSTATE.
    case refused(code: String, message: String)
    /// The client could reach no server that takes writes; nothing is stored.
    case unavailable(reason: String)
    /// The client must not use the server, or its pooler or role, as they are set up; nothing is
    /// stored.
    case unusable(reason: String)
    /// After the work was sent, the connection was lost, or the server confirmed with a warning.
    /// So the work may or may not be stored.
    case unknownOutcome(reason: String)
    /// More statements wait than the connection accepts, or a transaction has waited too long for
    /// a connection.
    case busy
    /// A column differs from the type that the code expects.
    case badColumn(Int)
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
        }
    }
}

extension DatabaseError {
    /// The SQLSTATE of a refusal.
    package var code: String? {
        if case .refused(let code, _) = self { code } else { nil }
    }

    /// Whether a retry of the transaction from its beginning can succeed. True after a
    /// serialization failure, a deadlock, a lock timeout, or several lock waits that together took
    /// too long (57014).
    var isConflict: Bool {
        guard case .refused(let code, _) = self else { return false }
        return code == "40001" || code == "40P01" || code == "55P03" || code == "57014"
    }

    /// Whether the cause is that a prepared statement does not exist, or returns other columns
    /// since a migration.
    var isStalePlan: Bool {
        guard case .refused(let code, _) = self else { return false }
        return code == "26000" || code == "0A000"
    }

    var isLostConnection: Bool {
        if case .unavailable = self { true } else { false }
    }
}

/// Why a statement or a transaction failed.
///
/// Its texts are for the log: they contain neither parameters nor stored values.
package enum DatabaseError: Error, Sendable, Hashable {
    /// The server refused the statement; nothing of its transaction is stored. `code`: the SQLSTATE.
    case refused(code: String, message: String)
    /// No server could be reached, or none that takes writes; nothing is stored.
    case unavailable(reason: String)
    /// The connection was lost, or the server confirmed with a warning, after the work was sent: it may be stored or not.
    case unknownOutcome(reason: String)
    /// More statements wait than the connection accepts, or a transaction has waited too long for a connection.
    case busy
    /// A column is not as the statement's author expected.
    case badColumn(Int)
}

extension DatabaseError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .refused(let code, let message): "the database refused a statement: \(message) (SQLSTATE \(code))"
        case .unavailable(let reason): "the database is unavailable: \(reason)"
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

    /// Whether the same transaction can succeed if it runs again from its beginning: after a serialization failure, a deadlock,
    /// a lock that was not free in time, or several that together were not (57014).
    var isConflict: Bool {
        guard case .refused(let code, _) = self else { return false }
        return code == "40001" || code == "40P01" || code == "55P03" || code == "57014"
    }

    /// Whether a prepared statement does not exist, or returns other columns since a migration.
    var isStalePlan: Bool {
        guard case .refused(let code, _) = self else { return false }
        return code == "26000" || code == "0A000"
    }

    var isLostConnection: Bool {
        if case .unavailable = self { true } else { false }
    }
}

/// Why a statement or a transaction failed.
package enum DatabaseError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The server refused the statement; nothing of its transaction is stored. `code`: the SQLSTATE.
    case refused(code: String, message: String)
    /// No server could be reached, or none that takes writes; nothing is stored.
    case unavailable(reason: String)
    /// The connection was lost, or the server confirmed with a warning, after the work was sent: nobody knows whether it is stored.
    case unknownOutcome(reason: String)
    /// More statements wait than the connection accepts.
    case busy
    /// A column is not as the statement's author expected.
    case badColumn(Int)

    package var description: String { "\(self)" }
}

internal import PostgreSQL
internal import PushCore
internal import PushStore

extension StoreError {
    init(_ error: DatabaseError) {
        self =
            switch error {
            case .busy: .busy
            case .refused(let code, _) where code == "53100": .full
            // These codes mean that there are too many connections, that the database server is
            // shutting down, or that other transactions did not end in time.
            case .refused(let code, let message) where code.hasPrefix("57") || Self.passing.contains(code):
                .unavailable(reason: "\(message) (SQLSTATE \(code))")
            case .refused(let code, let message):
                if let cure = Self.cures[code] {
                    .unusable(reason: "\(message) (SQLSTATE \(code)); \(cure)")
                } else {
                    .failed(reason: "\(message) (SQLSTATE \(code))")
                }
            case .unavailable(let reason): .unavailable(reason: reason)
            case .unusable(let reason): .unusable(reason: reason)
            case .unknownOutcome(let reason): .unknownOutcome(reason: reason)
            case .badColumn, .noColumn: .undecodable
            }
    }

    /// Codes of temporary errors: too many connections, a conflict with another transaction, or a
    /// lock that another transaction holds.
    private static let passing: Set = ["53300", "40001", "40P01", "55P03"]

    /// Codes of errors that last until an operator cures them: a missing right, a missing table,
    /// and damaged pages or indexes.
    private static let cures = [
        "42501": "give the server's role this right, or make the role the owner (docs/scale.md)",
        "42P01": """
        give the server's role the right usage on its schema (docs/scale.md), or a search_path that has this \
        schema; if the table is gone, restore a backup
        """,
        "XX001": "restore a backup", "XX002": "rebuild the index with reindex, or restore a backup",
    ]

    /// The error of the database or of a decoder. Its text contains no values of the row. `nil`
    /// for an error of any other kind.
    init?(reading error: any Error) {
        switch error {
        case let error as StoreError: self = error
        case let error as DatabaseError: self.init(error)
        case VaultError.sealingStopped: self = .unavailable(reason: VaultError.sealingStopped.description)
        case let error as VaultError: self = .failed(reason: error.description)
        case is DecodingError: self = .undecodable
        default: return nil
        }
    }

    /// The error that prevented the database from being opened. A `StoreError` is returned
    /// unchanged.
    init(opening place: String, _ error: any Error) {
        switch error {
        case let error as StoreError: self = error
        case DatabaseError.unavailable(let reason): self = .cannotOpen(place: place, reason: reason)
        default:
            if case .unusable(_, let reason)? = StoreError(reading: error) {
                self = .unusable(place: place, reason: reason)
            } else {
                self = .cannotOpen(place: place, reason: "\(error)")
            }
        }
    }
}

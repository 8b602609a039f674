internal import Foundation
internal import PushCore
internal import PushStore
internal import SQLite

extension StoreError {
    init(_ error: DatabaseError) {
        self = error.isFull ? .full : .failed(reason: error.message ?? "\(error.resultCode)")
    }

    /// Converts an error of SQLite or of a decoder; `nil` for an error of any other kind.
    init?(reading error: any Error) {
        switch error {
        case let error as StoreError: self = error
        case let error as DatabaseError: self.init(error)
        case let error as VaultError: self = .failed(reason: error.description)
        case is DecodingError: self = .undecodable
        default: return nil
        }
    }

    /// The error that prevented the database from being opened. A `StoreError` is returned
    /// unchanged.
    init(opening path: String, _ error: any Error) {
        switch error {
        case let error as StoreError: self = error
        case let error as DatabaseError:
            let reason = error.isFull ? "\(StoreError.full)" : error.message ?? "\(error.resultCode)"
            self = .cannotOpen(place: path, reason: reason)
        case let error as VaultError: self = .cannotOpen(place: path, reason: error.description)
        default: self = .cannotOpen(place: path, reason: error.localizedDescription)
        }
    }
}

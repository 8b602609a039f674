internal import Foundation
internal import PushCore
internal import PushStore
internal import SQLite

extension StoreError {
    init(_ error: DatabaseError) {
        self =
            switch error.resultCode {
            case _ where error.isFull: .full
            case _ where error.isLock: .unavailable(reason: error.reason)
            case _ where error.isDamage: .damagedFile(reason: error.reason)
            default: .failed(reason: error.reason)
            }
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
        case let error as DatabaseError where error.isDamage:
            self = .unusable(place: path, reason: "\(error.reason); restore an intact backup")
        case let error as DatabaseError:
            self = .cannotOpen(place: path, reason: error.isFull ? "\(StoreError.full)" : error.reason)
        case let error as VaultError: self = .cannotOpen(place: path, reason: error.description)
        default: self = .cannotOpen(place: path, reason: error.localizedDescription)
        }
    }
}

extension DatabaseError {
    /// Whether another program has locked the database's file, or the write-ahead log's index.
    var isLock: Bool { [.busy, .lockingProtocol].contains(self.resultCode) }

    /// Whether SQLite has found that the file is damaged, or that it is no database.
    var isDamage: Bool { [.corrupt, .notADatabase].contains(self.resultCode) }

    /// The words for the operator. All writes of this process share a connection, so only another
    /// process can hold a lock for longer than the connection waits.
    fileprivate var reason: String {
        self.isLock
            ? "another program, such as a shell of SQLite, has locked the file; end that program"
            : self.message ?? "\(self.resultCode.rawValue)"
    }
}

internal import CSQLite

/// The failure of a statement. Its texts contain neither parameters nor stored values.
package struct DatabaseError: Error, Equatable, CustomStringConvertible {
    /// The primary result code, which gives the kind of failure.
    package var resultCode: ResultCode { ResultCode(rawValue: self.extendedResultCode.rawValue & 0xFF) }
    /// SQLite's extended result code, which also has the details.
    package let extendedResultCode: ResultCode
    package let message: String?

    package init(resultCode: ResultCode, message: String? = nil) {
        self.extendedResultCode = resultCode
        self.message = message ?? sqlite3_errstr(resultCode.rawValue).map { String(cString: $0) }
    }

    /// The error that a call on `connection` has just returned.
    package init(of connection: OpaquePointer?, _ code: Int32) {
        let message = connection.flatMap { sqlite3_errmsg($0) }.map { String(cString: $0) }
        self.init(resultCode: ResultCode(rawValue: code), message: message)
    }

    package var description: String {
        "SQLite error \(self.extendedResultCode.rawValue): \(self.message ?? "unknown")"
    }
}

/// A result code of SQLite (https://www.sqlite.org/rescode.html). It may be a primary or an
/// extended result code.
package struct ResultCode: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int32

    package init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    package static let abort = ResultCode(rawValue: 4)
    package static let busy = ResultCode(rawValue: 5)
    package static let outOfMemory = ResultCode(rawValue: 7)
    package static let interrupt = ResultCode(rawValue: 9)
    package static let ioError = ResultCode(rawValue: 10)
    package static let corrupt = ResultCode(rawValue: 11)
    package static let full = ResultCode(rawValue: 13)
    package static let cannotOpen = ResultCode(rawValue: 14)
    /// SQLite could not lock the write-ahead log's index (`SQLITE_PROTOCOL`).
    package static let lockingProtocol = ResultCode(rawValue: 15)
    package static let constraint = ResultCode(rawValue: 19)
    package static let misuse = ResultCode(rawValue: 21)
    package static let notADatabase = ResultCode(rawValue: 26)
    package static let ioErrorOfWriting = ResultCode(rawValue: 10 | 3 << 8)
    package static let ioErrorOfSharedMemory = ResultCode(rawValue: 10 | 19 << 8)
}

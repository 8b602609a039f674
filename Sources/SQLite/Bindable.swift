internal import CSQLite
package import Foundation

/// A value for a parameter of a statement. An existential can contain a value of each conforming
/// type without a heap allocation.
package protocol Bindable: Sendable {
    /// Binds the value to the parameter with this index; the first index is 1. If SQLite gets a
    /// pointer to the value, it copies the value.
    func bind(to statement: OpaquePointer, at index: Int32)
}

// This is the value of SQLITE_TRANSIENT, a macro that Swift does not import. It makes SQLite copy
// the bytes.
private var transient: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }

extension Int64: Bindable {
    package func bind(to statement: OpaquePointer, at index: Int32) {
        sqlite3_bind_int64(statement, index, self)
    }
}

extension Int: Bindable {
    package func bind(to statement: OpaquePointer, at index: Int32) {
        sqlite3_bind_int64(statement, index, Int64(self))
    }
}

extension Bool: Bindable {
    package func bind(to statement: OpaquePointer, at index: Int32) {
        sqlite3_bind_int64(statement, index, self ? 1 : 0)
    }
}

extension String: Bindable {
    package func bind(to statement: OpaquePointer, at index: Int32) {
        // The number of bytes is passed, since a text may contain a null, which would end a C
        // string.
        _ = self.withCString { sqlite3_bind_text(statement, index, $0, Int32(self.utf8.count), transient) }
    }
}

extension Data: Bindable {
    package func bind(to statement: OpaquePointer, at index: Int32) {
        _ = self.withUnsafeBytes { bytes in
            if let start = bytes.baseAddress {
                sqlite3_bind_blob(statement, index, start, Int32(bytes.count), transient)
            } else {
                sqlite3_bind_zeroblob(statement, index, 0)
            }
        }
    }
}

extension Optional: Bindable where Wrapped: Bindable {
    package func bind(to statement: OpaquePointer, at index: Int32) {
        if let self {
            self.bind(to: statement, at: index)
        } else {
            sqlite3_bind_null(statement, index)
        }
    }
}

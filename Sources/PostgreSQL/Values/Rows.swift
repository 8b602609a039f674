internal import CPostgreSQL

/// The rows that a statement returned, and the number of rows that it changed.
///
/// This object owns a `PGresult`. libpq never changes a result that it has returned, and the
/// accessors only read it, so several threads may use it.
package final class Rows: RandomAccessCollection, Sendable {
    /// Concurrent use is safe: all accessors only read. `deinit` frees the result, after the last
    /// use.
    nonisolated(unsafe) let result: OpaquePointer
    package let count: Int
    let columns: Int
    /// Whether all columns have the binary format, which every statement requests.
    let isBinary: Bool

    /// Takes ownership of `result`.
    init(_ result: OpaquePointer) {
        self.result = result
        self.count = Int(PQntuples(result))
        self.columns = Int(PQnfields(result))
        self.isBinary = PQbinaryTuples(result) != 0
    }

    deinit {
        PQclear(self.result)
    }

    /// The number of rows that an `insert`, `update` or `delete` has changed. It is 0 for a
    /// statement that begins with `with` and ends in a `select`.
    package var changed: Int {
        // Examples of the command tag: `INSERT 0 3`, `UPDATE 3`, `SELECT 3`.
        let words = self.command.split(separator: " ")
        guard let last = words.last, words.first != "SELECT" else { return 0 }
        return Int(last) ?? 0
    }

    /// The server's command tag, such as `COMMIT`.
    var command: String { PQcmdStatus(self.result).map { String(cString: $0) } ?? "" }

    package var startIndex: Int { 0 }

    package var endIndex: Int { self.count }

    /// The row at an index. If there is no such row, its accessors throw.
    package subscript(_ index: Int) -> Row { Row(rows: self, index: index) }
}

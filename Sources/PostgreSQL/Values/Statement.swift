/// A statement and its parameters, in the form that libpq needs.
package struct Statement: Sendable {
    /// Identifies a prepared statement. With other types of parameters, the same text is another
    /// statement.
    struct Key: Hashable {
        let sql: String
        let types: [UInt32]
    }

    /// The maximum size of all values in bytes, since the server refuses messages of 1 GiB.
    private static let maximumSize = 1 << 29

    let key: Key
    /// The bytes of all values, one value after the other.
    private let bytes: [UInt8]
    /// The range of each value in `bytes`; `nil` for SQL's null.
    private let values: [Range<Int>?]

    /// Throws `refused` if the values are larger than 512 MiB.
    package init(_ sql: String, _ values: any Bindable...) throws(DatabaseError) {
        try self.init(sql, values: values)
    }

    /// A statement with the parameters in `values`.
    package init(_ sql: String, values: [any Bindable]) throws(DatabaseError) {
        var bytes: [UInt8] = []
        var ranges: [Range<Int>?] = []
        var types: [UInt32] = []
        ranges.reserveCapacity(values.count)
        types.reserveCapacity(values.count)
        for value in values {
            let start = bytes.count
            ranges.append(value.append(to: &bytes) ? start..<bytes.count : nil)
            types.append(type(of: value).typeNumber)
        }
        guard bytes.count <= Self.maximumSize else {
            throw .refused(code: "54000", message: "the parameters are larger than 512 MiB")
        }
        // The additional byte gives an empty value an address, too: libpq treats a null pointer as
        // SQL's null.
        bytes.append(0)
        self.key = Key(sql: sql, types: types)
        self.bytes = bytes
        self.values = ranges
    }

    init(fixed sql: StaticString) {
        self.key = Key(sql: "\(sql)", types: [])
        self.bytes = [0]
        self.values = []
    }

    /// Whether the statement begins with `select`, and so changes nothing. A statement that begins
    /// with `with` may write, so it counts as writing.
    var onlyReads: Bool {
        self.key.sql.utf8.lazy.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }
            .prefix(6).map { $0 | 0x20 }.elementsEqual("select".utf8)
    }

    /// Calls `body` with the number of parameters, their addresses, their lengths and their
    /// formats. All formats are binary.
    func withParameters<Result>(
        _ body: (Int32, [UnsafePointer<CChar>?], [Int32], [Int32]) -> Result
    ) -> Result {
        self.bytes.withUnsafeBytes { bytes in
            let base = bytes.assumingMemoryBound(to: CChar.self).baseAddress
            return body(
                Int32(clamping: self.values.count),
                self.values.map { range in range.flatMap { base?.advanced(by: $0.lowerBound) } },
                self.values.map { Int32(clamping: $0?.count ?? 0) },
                [Int32](repeating: 1, count: self.values.count)
            )
        }
    }
}

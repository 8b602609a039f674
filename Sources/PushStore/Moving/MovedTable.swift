/// A table that a move fills, with the columns that it has in the target; the columns of its key
/// come first.
///
/// The source gives its rows in the order of the key, and converts values that the two kinds of
/// stores store differently.
package struct MovedTable: Sendable {
    package struct Column: Sendable {
        package let name: String
        package let kind: MovedValue.Kind
    }

    package let name: String
    package let columns: [Column]
    /// How many columns, counted from the first, form the key.
    package let keyLength: Int
    /// The largest number of rows in one read or write.
    package let pageRows: Int

    init(_ name: String, key: [Column], _ others: [Column] = [], pageRows: Int = 2000) {
        self.name = name
        self.columns = key + others
        self.keyLength = key.count
        self.pageRows = pageRows
    }

    package var key: ArraySlice<Column> { self.columns.prefix(self.keyLength) }
}

extension MovedTable.Column {
    static func integers(_ names: String...) -> [Self] { names.map { Self(name: $0, kind: .integer) } }
    static func booleans(_ names: String...) -> [Self] { names.map { Self(name: $0, kind: .boolean) } }
    static func texts(_ names: String...) -> [Self] { names.map { Self(name: $0, kind: .text) } }
    static func bytes(_ names: String...) -> [Self] { names.map { Self(name: $0, kind: .bytes) } }
}

/// A table that a move fills, with its columns in the target. The columns of its key come first.
///
/// The source returns the rows in the order of this key. It converts values that the two kinds of
/// stores represent differently.
package struct MovedTable: Sendable {
    package struct Column: Sendable {
        package let name: String
        package let kind: MovedValue.Kind
    }

    package let name: String
    package let columns: [Column]
    /// The number of columns in the key. These are the first columns of the table.
    package let keyLength: Int
    /// The maximum number of rows in one read or write.
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

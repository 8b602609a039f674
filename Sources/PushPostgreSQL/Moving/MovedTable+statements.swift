internal import Foundation
internal import PostgreSQL
internal import PushStore

extension MovedTable {
    /// Selects whether a table has a row. The caller leaves out the tables `ofEmptyStores`: a
    /// server writes their rows at its start.
    static func finding(_ name: String) -> String { "select exists (select 1 from \"\(name)\")" }

    /// Inserts rows. Each parameter is an array with the values of one column.
    var insertion: String {
        let parameters = self.columns.enumerated().map { "$\($0.offset + 1)::\($0.element.kind.rawValue)[]" }
        return """
            insert into \(self.quotedName) (\(self.columns.map(\.quotedName).joined(separator: ", ")))
            select * from rows from (\(parameters.map { "pg_catalog.unnest(\($0))" }.joined(separator: ", ")))
            """
    }

    /// Selects rows in the order of the key. The first parameter is the maximum number of rows.
    /// With `isBehindKey`, the rows begin after a given key.
    func selection(isBehindKey: Bool) -> String {
        let key = self.key.map(\.ordered).joined(separator: ", ")
        var condition = ""
        if isBehindKey {
            let parameters = self.key.enumerated().map { "$\($0.offset + 2)" }.joined(separator: ", ")
            // With the additional condition on the first column, PostgreSQL uses the index,
            // whatever collation the index has.
            condition = "where \(self.columns[0].quotedName) >= $2 and (\(key)) > (\(parameters))"
        }
        return """
            select \(self.columns.map(\.quotedName).joined(separator: ", ")) from \(self.quotedName)
            \(condition) order by \(key) limit $1
            """
    }

    /// Deletes rows in the order of the key. The parameter is the maximum number of rows.
    var deletion: String {
        let key = self.key.map(\.quotedName).joined(separator: ", ")
        return """
            delete from \(self.quotedName) where (\(key)) in (select \(key) from \(self.quotedName) order by \(key) limit $1)
            """
    }

    /// The values of rows as parameters of `insertion`, one array for each column.
    func parameters(_ rows: [MovedRow]) -> [any Bindable] {
        self.columns.enumerated().map { index, column in
            switch column.kind {
            case .integer: rows.map { $0[index].integer }
            case .boolean: rows.map { $0[index].boolean }
            case .text: rows.map { $0[index].text }
            case .bytes: rows.map { $0[index].bytes }
            }
        }
    }

    func keyParameters(_ row: MovedRow) -> [any Bindable] {
        row.prefix(self.keyLength).map { value in
            switch value {
            case .null: Int64?.none
            case .integer(let number): number
            case .boolean(let flag): flag
            case .text(let text): text
            case .bytes(let bytes): bytes
            }
        }
    }

    func values(_ row: Row) throws -> MovedRow {
        try zip(Int32(0)..., self.columns).map { index, column in
            let value: MovedValue? =
                switch column.kind {
                case .integer: try row.optionalInteger(index).map { .integer($0) }
                case .boolean: try row.optionalBoolean(index).map { .boolean($0) }
                case .text: try row.optionalText(index).map { .text($0) }
                case .bytes: try row.optionalData(index).map { .bytes($0) }
                }
            return value ?? .null
        }
    }

    private var quotedName: String { "\"\(self.name)\"" }
}

extension MovedTable.Column {
    fileprivate var quotedName: String { "\"\(self.name)\"" }

    /// The column in an `order by`. Texts are ordered by their bytes, as in SQLite.
    fileprivate var ordered: String { self.kind == .text ? "\(self.quotedName) collate \"C\"" : self.quotedName }
}

extension MovedValue {
    fileprivate var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
    fileprivate var boolean: Bool? { if case .boolean(let value) = self { value } else { nil } }
    fileprivate var text: String? { if case .text(let value) = self { value } else { nil } }
    fileprivate var bytes: Data? { if case .bytes(let value) = self { value } else { nil } }
}

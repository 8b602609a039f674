internal import Foundation
internal import PostgreSQL
internal import PushStore

extension MovedTable {
    /// Asks whether the table has a row that a server writes only when something is stored. Rows
    /// that a server writes at its start do not count.
    var finding: String {
        "select exists (select 1 from \(self.quotedName))"
    }

    /// Inserts rows, whose columns are the parameters.
    var insertion: String {
        let parameters = self.columns.enumerated().map { "$\($0.offset + 1)::\($0.element.kind.sqlType)[]" }
        return """
            insert into \(self.quotedName) (\(self.columns.map(\.quotedName).joined(separator: ", ")))
            select * from rows from (\(parameters.map { "pg_catalog.unnest(\($0))" }.joined(separator: ", ")))
            """
    }

    /// Selects the first rows, at most as many as the first parameter says. Optionally starts
    /// after a key.
    func selection(isBehindKey: Bool) -> String {
        let key = self.key.map(\.ordered).joined(separator: ", ")
        var condition = ""
        if isBehindKey {
            let parameters = self.key.enumerated().map { "$\($0.offset + 2)" }.joined(separator: ", ")
            // The condition on the first column makes PostgreSQL use the index, whatever the
            // collation of the index is.
            condition = "where \(self.columns[0].quotedName) >= $2 and (\(key)) > (\(parameters))"
        }
        return """
            select \(self.columns.map(\.quotedName).joined(separator: ", ")) from \(self.quotedName)
            \(condition) order by \(key) limit $1
            """
    }

    /// Deletes the first rows, at most as many as the parameter says.
    var deletion: String {
        let key = self.key.map(\.quotedName).joined(separator: ", ")
        return """
            delete from \(self.quotedName) where (\(key)) in (select \(key) from \(self.quotedName) order by \(key) limit $1)
            """
    }

    /// The columns' values of rows, as parameters of `insertion`.
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

    /// The key of a row, as parameters of `selection`.
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

    /// Reads a row of `selection`.
    func values(_ row: Row) throws -> MovedRow {
        var values: MovedRow = []
        values.reserveCapacity(self.columns.count)
        for (index, column) in self.columns.enumerated() {
            let value: MovedValue? =
                switch column.kind {
                case .integer: try row.optionalInteger(index).map { .integer($0) }
                case .boolean: try row.optionalBoolean(index).map { .boolean($0) }
                case .text: try row.optionalText(index).map { .text($0) }
                case .bytes: try row.optionalData(index).map { .bytes($0) }
                }
            values.append(value ?? .null)
        }
        return values
    }

    private var quotedName: String { "\"\(self.name)\"" }
}

extension MovedTable.Column {
    fileprivate var quotedName: String { "\"\(self.name)\"" }

    /// Texts are in the order of their bytes, as in SQLite.
    fileprivate var ordered: String { self.kind == .text ? "\(self.quotedName) collate \"C\"" : self.quotedName }
}

extension MovedValue.Kind {
    fileprivate var sqlType: String {
        switch self {
        case .integer: "int8"
        case .boolean: "boolean"
        case .text: "text"
        case .bytes: "bytea"
        }
    }
}

extension MovedValue {
    fileprivate var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
    fileprivate var boolean: Bool? { if case .boolean(let value) = self { value } else { nil } }
    fileprivate var text: String? { if case .text(let value) = self { value } else { nil } }
    fileprivate var bytes: Data? { if case .bytes(let value) = self { value } else { nil } }
}

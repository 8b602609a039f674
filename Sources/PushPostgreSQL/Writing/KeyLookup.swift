internal import PushStore

/// The columns of a key, and the ways in which a statement finds the row with the key of another
/// row. Each way works around a different assumption of the planner.
struct KeyLookup {
    let columns: [String]

    /// The condition that a row has the key of another one. PostgreSQL then looks it up by an
    /// index, whatever the planner assumes. Use it in statements that read more than the key: for
    /// the keys alone, PostgreSQL may scan their whole index.
    ///
    /// A table that is empty when it is analyzed counts as empty until the next analysis, however
    /// many rows are inserted. A join by plain equality then reads all of an index for each batch.
    ///
    /// A comparison with an array leaves the planner no other way than to look up each key. But a
    /// second column compared like that may become a filter, which reads all rows with the same
    /// first value. Bounds never become a filter. Bounds alone do not suffice: the planner assumes
    /// that they match a third of the table.
    ///
    /// `table` and `row` are names or aliases; `values` replace the columns of `row` that have
    /// other names.
    func condition(_ table: String, _ row: String, _ values: [String: String] = [:]) -> String {
        self.columns.map { column in
            let value = values[column] ?? "\(row).\(column)"
            return "\(table).\(column) = any(array[\(value)]) and \(table).\(column) between \(value) and \(value)"
        }.joined(separator: " and ")
    }

    /// The condition as plain equality. The values must be columns of one row: then the planner
    /// cannot drop one of the columns and join by the rest.
    func equality(_ table: String, _ row: String, _ values: [String: String] = [:]) -> String {
        self.columns.map { "\(table).\($0) = \(values[$0] ?? "\(row).\($0)")" }.joined(separator: " and ")
    }

    /// A join that adds the row of `table` whose key `row` has, with these columns, as `alias`.
    /// `condition` begins with `and`, and `lock` with `for`; locks rows in the order of `row`.
    ///
    /// The join is a subquery, which its limit isolates. So the key is compared with values, and
    /// all its columns bound the index. A plain join may bound the index by one column: each fetch
    /// of a broadcast then read all of its recipients.
    func join(
        _ columns: String,
        of table: String,
        as alias: String,
        with row: String,
        _ values: [String: String] = [:],
        condition: String = "",
        lock: String = ""
    ) -> String {
        let key = self.equality(table, row, values)
        return
            "cross join lateral (select \(columns) from \(table) where \(key) \(condition) limit 1 \(lock)) as \(alias)"
    }
}

/// An index of two columns for reading pages: rows with the same value in the first column, in the
/// order of the second.
///
/// Tables of pairs have an index in each direction. Most rows may have the same value, such as one
/// broadcast's pushes or one topic's devices. Then the planner rates both indexes equal, whatever
/// value is requested. Through the wrong one, it reads the whole table to find the few rows of
/// another value. A comparison and order by pairs fits only this index.
struct PairIndex {
    let first: String
    let second: String

    /// The condition on rows with a value in the first column, and a value greater than `mark` in
    /// the second.
    func rows(of value: String, after mark: String) -> String {
        "(\(self.first), \(self.second)) > (\(value), \(mark)) and \(self.first) <= \(value)"
    }

    /// The order of the rows that `rows(of:after:)` selects.
    var order: String { "\(self.first), \(self.second)" }
}

extension DuePush {
    /// The pushes of a notification, in the order of their devices.
    static let byNotification = PairIndex(first: "notification_id", second: "device")

    private static let key = KeyLookup(columns: ["notification_id", "device"])

    /// The condition that a row of a table of pushes has the key of another row.
    static func equal(_ push: String, _ row: String, device: String? = nil) -> String {
        self.key.condition(push, row, device.map { ["device": $0] } ?? [:])
    }
}

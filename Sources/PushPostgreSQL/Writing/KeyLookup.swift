/// The columns of a key, and how a statement finds the row with the key of another one: each way holds against other beliefs of the
/// planner.
struct KeyLookup {
    let columns: [String]

    /// The condition that a row has the key of another one, which is looked up by an index whatever the planner believes; in a
    /// statement that reads more than the key, since it may take the keys alone by walking over their whole index.
    ///
    /// A table that is empty when it is analyzed counts as empty until the next time, however many rows come in. A join by plain
    /// equality then reads all of an index for each batch. A comparison with an array leaves the planner no other way than to look up
    /// each key; but a second column compared like that may become a filter, which reads all rows with the same value in the first.
    /// Bounds are never that. They alone would not do, since the planner holds them for a third of the table.
    ///
    /// `table` and `row` are names or aliases; `values` stand for the columns of `row` that have other names.
    func condition(_ table: String, _ row: String, _ values: [String: String] = [:]) -> String {
        self.columns.map { column in
            let value = values[column] ?? "\(row).\(column)"
            return "\(table).\(column) = any(array[\(value)]) and \(table).\(column) between \(value) and \(value)"
        }.joined(separator: " and ")
    }

    /// The same by plain equality. The values must be of one row, as the planner can then not leave a column out to join by the others.
    func equality(_ table: String, _ row: String, _ values: [String: String] = [:]) -> String {
        self.columns.map { "\(table).\($0) = \(values[$0] ?? "\(row).\($0)")" }.joined(separator: " and ")
    }

    /// A join that adds the row of `table` whose key `row` has, with these columns, as `alias`. `condition` begins with `and`, and
    /// `lock` with `for`; rows are locked in the order of `row`.
    ///
    /// In a subquery that the limit keeps apart, the key is compared with values, and then all its columns bound the index. A plain
    /// join may bound it by one of them: each fetch of a broadcast then read all of its recipients.
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

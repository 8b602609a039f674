internal import PostgreSQL
internal import PushCore
internal import PushStore

/// The columns of a key, and SQL conditions for finding the row with a given key. Each condition
/// avoids a different wrong assumption of the planner.
struct KeyLookup {
    let columns: [String]

    /// The condition that a row has the key of another row. With this condition, PostgreSQL looks
    /// the key up in an index, whatever the planner assumes. Use it in statements that read more
    /// columns than the key. If a statement reads only the key, PostgreSQL may scan the whole
    /// index.
    ///
    /// A table that is empty when it is analyzed counts as empty until the next analysis, even if
    /// many rows are inserted meanwhile. A join by plain equality then reads a whole index for
    /// each batch.
    ///
    /// If the first column is compared with an array, the planner can only look up each key. But a
    /// second column that is compared with an array may become a filter, which reads all rows with
    /// the same first value. Bounds (`between`) never become a filter. Bounds alone do not
    /// suffice, since the planner assumes that they match a third of the table.
    ///
    /// `table` and `row` are names or aliases. `values` replaces columns of `row` that have other
    /// names.
    func condition(_ table: String, _ row: String, _ values: [String: String] = [:]) -> String {
        self.columns.map { column in
            let value = values[column] ?? "\(row).\(column)"
            return "\(table).\(column) = any(array[\(value)]) and \(table).\(column) between \(value) and \(value)"
        }.joined(separator: " and ")
    }

    /// The condition as plain equality. All values must be columns of one row. Otherwise the
    /// planner may drop one of the comparisons, and join by the rest of the key.
    func equality(_ table: String, _ row: String, _ values: [String: String] = [:]) -> String {
        self.columns.map { "\(table).\($0) = \(values[$0] ?? "\(row).\($0)")" }.joined(separator: " and ")
    }

    /// A join that adds, under the name `alias`, the row of `table` that has the key in `row`.
    /// `condition` begins with `and`, and `lock` with `for`; rows are locked in the order of
    /// `row`.
    ///
    /// The join is a subquery with a limit, which the planner cannot merge into the statement. So
    /// the key is compared with values, and all its columns bound the search in the index. With a
    /// plain join, perhaps only one column bounds the search: each fetch of a broadcast then reads
    /// all recipients.
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

/// An index of two columns. A page of rows with the same value in the first column is read through
/// it, in the order of the second column.
///
/// A table of pairs has an index for each order of its columns. Most rows may have the same first
/// value, such as the pushes of one broadcast, or the devices with one topic. The planner then
/// considers both indexes equally good, whatever value is requested. With the wrong index, it
/// reads the whole table to find the few rows of another value. A comparison of pairs, ordered by
/// pairs, suits only the right index.
struct PairIndex {
    let first: String
    let second: String

    /// The condition on rows with the value `value` in the first column, and a value greater than
    /// `mark` in the second.
    func rows(of value: String, after mark: String) -> String {
        "(\(self.first), \(self.second)) > (\(value), \(mark)) and \(self.first) <= \(value)"
    }

    /// The order of the rows that `rows(of:after:)` selects.
    var order: String { "\(self.first), \(self.second)" }
}

/// A key of two numbers. Statements get keys as two arrays, and return a key in columns with the
/// names in `lookup`.
protocol PairKey: Sendable, Hashable, Comparable {
    static var lookup: KeyLookup { get }
    init(_ first: Int64, _ second: Int64)

    var numbers: (Int64, Int64) { get }
}

extension PairKey {
    init(_ row: Row) throws { try self.init(row.integer(Self.lookup.columns[0]), row.integer(Self.lookup.columns[1])) }

    static func < (left: Self, right: Self) -> Bool { left.numbers < right.numbers }
}

extension WriteTransaction {
    /// Runs a statement. Its first two parameters are the two numbers of each key. Without keys,
    /// runs nothing, and returns no rows.
    @discardableResult
    func query(_ sql: String, keys: [some PairKey], _ values: any Bindable...) async throws -> [Row] {
        if keys.isEmpty { return [] }
        return Array(try await self.query(sql, values: [keys.map(\.numbers.0), keys.map(\.numbers.1)] + values))
    }
}

extension DuePush: PairKey {
    init(_ notification: Int64, _ device: Int64) { self.init(notification: notification, device: device) }

    var numbers: (Int64, Int64) { (self.notification, self.device) }

    func cancelled(_ reason: String?) -> PushEnd { PushEnd(push: self, state: .cancelled, reason: reason) }

    /// The index over the pushes of a notification, in the order of their devices.
    static let byNotification = PairIndex(first: "notification_id", second: "device")

    /// The index over the pushes to a device, in the order of their notifications.
    static let byDevice = PairIndex(first: "device", second: "notification_id")

    static let lookup = KeyLookup(columns: ["notification_id", "device"])

    /// The SQL condition that a row of a table of pushes has the same key as another row.
    static func equal(_ push: String, _ row: String) -> String { self.lookup.condition(push, row) }
}

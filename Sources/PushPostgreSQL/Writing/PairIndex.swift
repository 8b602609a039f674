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

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

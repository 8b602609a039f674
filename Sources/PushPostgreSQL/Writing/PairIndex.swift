/// An index of two columns that a page is read by: rows with the same value in the first one, in the order of the second.
///
/// Tables of pairs have an index in each direction. Where most rows have the same value, as one broadcast's pushes or one
/// topic's devices, the planner holds both for equally good, whatever the value is that is asked for, and reads the whole table
/// through the wrong one to find the few rows of another. Compared and ordered as pairs, only this one serves.
struct PairIndex {
    let first: String
    let second: String

    /// The condition on rows with a value in the first column, and a greater one than `mark` in the second.
    func rows(of value: String, after mark: String) -> String {
        "(\(self.first), \(self.second)) > (\(value), \(mark)) and \(self.first) <= \(value)"
    }

    /// What such rows are ordered by.
    var order: String { "\(self.first), \(self.second)" }
}

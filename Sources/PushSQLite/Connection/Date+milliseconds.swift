internal import Foundation

extension Date {
    /// As the database keeps it: milliseconds since 1970. What is too far away for that, as a provider or a damaged row
    /// may say, becomes the farthest there is.
    var milliseconds: Int64 {
        let exact = (self.timeIntervalSince1970 * 1000).rounded()
        return Int64(exactly: exact) ?? (exact < 0 ? .min : .max)
    }

    init(milliseconds: Int64) {
        self.init(timeIntervalSince1970: Double(milliseconds) / 1000)
    }
}

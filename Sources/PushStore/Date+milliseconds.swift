internal import Foundation

extension Date {
    /// As the database keeps it: milliseconds since 1970.
    var milliseconds: Int64 {
        Int64((self.timeIntervalSince1970 * 1000).rounded())
    }

    init(milliseconds: Int64) {
        self.init(timeIntervalSince1970: Double(milliseconds) / 1000)
    }
}

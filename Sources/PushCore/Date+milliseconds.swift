package import Foundation

extension Date {
    /// The time in milliseconds since 1970, as the database stores it. A time from a provider or
    /// from a damaged row may be out of range. Such a time becomes the nearest time in range.
    package var milliseconds: Int64 {
        let exact = (self.timeIntervalSince1970 * 1000).rounded()
        return Int64(exactly: exact) ?? (exact < 0 ? .min : .max)
    }

    package init(milliseconds: Int64) {
        self.init(timeIntervalSince1970: Double(milliseconds) / 1000)
    }
}

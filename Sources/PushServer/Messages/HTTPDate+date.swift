internal import CivilTime
internal import Foundation

extension HTTPDate {
    /// The time, rounded down to the second.
    init(_ date: Date) {
        self.init(seconds: Int(date.timeIntervalSince1970.rounded(.down)))
    }

    /// The `Last-Modified` of a state that changed at `date`: the second that begins after it.
    ///
    /// The state may change again within the same second, and a client must not take the earlier state for the newest
    /// then. So this is not a validator before it is past.
    init(lastModified date: Date) {
        self.init(seconds: Int(date.timeIntervalSince1970.rounded(.down)) + 1)
    }
}

internal import CivilTime
internal import Foundation

extension HTTPDate {
    /// The time, rounded down to the second.
    init(_ date: Date) {
        self.init(seconds: Int(date.timeIntervalSince1970.rounded(.down)))
    }

    /// The `Last-Modified` of a state that changed at `date`: the start of the next second.
    ///
    /// The state may change again within the same second, and then a client must not take the
    /// earlier state for the newest one. Until this time has passed, the server therefore does not
    /// use it as a validator.
    init(lastModified date: Date) {
        self.init(seconds: Int(date.timeIntervalSince1970.rounded(.down)) + 1)
    }
}

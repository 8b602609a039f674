internal import CivilTime
internal import Foundation

extension HTTPDate {
    /// The time, rounded down to the second.
    init(_ date: Date) {
        self.init(seconds: Int(date.timeIntervalSince1970.rounded(.down)))
    }

    /// The `Last-Modified` of what changed at that time: the second that begins after it.
    ///
    /// What is seen later in the same second may still change in it, and must not pass for the newest then. So this is no
    /// validator before it is past.
    init(lastModified date: Date) {
        self.init(seconds: Int(date.timeIntervalSince1970.rounded(.down)) + 1)
    }
}

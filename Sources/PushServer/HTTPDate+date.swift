internal import Foundation
internal import SocketHTTP

extension HTTPDate {
    /// The time, rounded down to the second.
    init(_ date: Date) {
        self.init(seconds: Int(date.timeIntervalSince1970.rounded(.down)))
    }
}

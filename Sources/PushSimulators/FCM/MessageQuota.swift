internal import Foundation
internal import Synchronization

/// The messages that a project may send in a minute. Refused ones count, but not those over the quota.
final class MessageQuota: Sendable {
    private static let window: TimeInterval = 60

    private struct State {
        var limit: Int?
        /// When the messages of the last minute came, oldest first.
        var times: [Date] = []
    }

    // A lock: each use is short.
    private let state = Mutex(State())

    /// `nil`: as many as one likes.
    func setLimit(_ limit: Int?) {
        self.state.withLock { $0.limit = limit }
    }

    /// Counts a message. Throws `quotaExceeded` if there were too many in the last minute.
    func count(now: Date) throws(FCMRefusal) {
        let isAllowed = self.state.withLock { state in
            guard let limit = state.limit else { return true }
            state.times.removeAll { now.timeIntervalSince($0) >= Self.window }
            guard state.times.count < limit else { return false }
            state.times.append(now)
            return true
        }
        guard isAllowed else { throw .quotaExceeded }
    }
}

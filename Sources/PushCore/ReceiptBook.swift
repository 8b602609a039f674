internal import Synchronization

/// The receipts that wait to be written: the records of who has fetched a notification. Any thread
/// may use this object.
///
/// Receipts are merged, and written later in the order of their rows. A broadcast may cause
/// 100,000 receipts within seconds, and posts must not wait for their writes. A crash loses the
/// receipts that wait. Any other lost receipt is counted.
package final class ReceiptBook: Sendable {
    /// How long the first receipt waits for further receipts, so that one commit writes all of
    /// them.
    package static let gathering = Duration.milliseconds(500)
    /// The pause after a failed write, before the receipts are written again.
    package static let pause = Duration.seconds(1)
    /// The maximum number of receipts in one transaction, which then takes some milliseconds.
    package static let slice = 500

    package struct Key: Hashable, Comparable {
        package let notification: Int64
        package let user: Int64

        package static func < (left: Key, right: Key) -> Bool {
            (left.notification, left.user) < (right.notification, right.user)
        }
    }

    package struct Receipt: Sendable {
        package let key: Key
        /// The time of the fetch, in milliseconds since 1970.
        package let fetchedAt: Int64
    }

    private struct State {
        var noted: [Key: Int64] = [:]
        /// Receipts that were moved here from `noted`. They are sorted, with the last row first.
        var sorted: [Receipt] = []
        var dropped = 0
    }

    private let limit: Int
    private let state = Mutex(State())

    /// If `limit` receipts wait, further receipts are dropped and counted.
    package init(limit: Int = 500_000) {
        self.limit = limit
    }

    package enum Noted {
        /// No other receipt was waiting, so the caller must schedule a write.
        case first
        case added, dropped
    }

    /// Adds a user's receipts. If there are several receipts for one notification, the earliest
    /// counts.
    package func record(_ notifications: [Int64], by user: Int64, at time: Int64) -> Noted {
        self.state.withLock { state in
            let isFirst = state.noted.isEmpty && state.sorted.isEmpty
            var result = isFirst ? Noted.first : .added
            for notification in notifications {
                let key = Key(notification: notification, user: user)
                if state.noted[key] != nil { continue }
                if state.noted.count + state.sorted.count >= self.limit {
                    state.dropped += 1
                    result = .dropped
                } else {
                    state.noted[key] = time
                }
            }
            return result
        }
    }

    /// The number of receipts that wait to be written.
    package var count: Int { self.state.withLock { $0.noted.count + $0.sorted.count } }

    /// The number of receipts that were dropped since the process started.
    package var dropped: Int { self.state.withLock { $0.dropped } }

    /// Removes the next receipts, at most `limit`, so that the caller can write them. Receipts of
    /// neighbouring rows come together.
    package func take(_ limit: Int) -> [Receipt] {
        self.state.withLock { state in
            if state.sorted.isEmpty {
                state.sorted = state.noted.map { Receipt(key: $0.key, fetchedAt: $0.value) }
                state.sorted.sort { $0.key > $1.key }
                state.noted.removeAll(keepingCapacity: false)
            }
            let taken = Array(state.sorted.suffix(limit).reversed())
            state.sorted.removeLast(taken.count)
            if state.sorted.isEmpty { state.sorted = [] }
            return taken
        }
    }

    /// Puts back receipts that the caller could not write.
    package func putBack(_ receipts: [Receipt]) {
        self.state.withLock { $0.sorted.append(contentsOf: receipts.reversed()) }
    }
}

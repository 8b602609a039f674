package import Foundation
internal import Synchronization

/// A clock that does not advance until a test moves it.
package final class ManualClock: Sendable {
    private let time: Mutex<Date>

    package init(_ time: Date = Date(timeIntervalSince1970: 1_800_000_000)) {
        self.time = Mutex(time)
    }

    package var now: Date { self.time.withLock { $0 } }

    package func advance(by seconds: TimeInterval) {
        self.time.withLock { $0 += seconds }
    }
}

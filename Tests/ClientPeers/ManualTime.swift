package import Foundation
package import PushClient
internal import Synchronization

/// A clock that only the test moves.
package final class ManualTime: Sendable {
    private let date: Mutex<Date>

    package init(_ date: Date = Date(timeIntervalSince1970: 1_800_000_000)) {
        self.date = Mutex(date)
    }

    package var now: Date { self.date.withLock { $0 } }

    package func pass(_ seconds: TimeInterval) {
        self.date.withLock { $0 += seconds }
    }

    package var options: PushClient.Options {
        var options = PushClient.Options(testing: [])
        options.now = { self.now }
        return options
    }
}

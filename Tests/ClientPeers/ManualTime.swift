package import Foundation
package import PushClient

/// A clock that only the test moves.
package final class ManualTime: Sendable {
    private let date: Locked<Date>

    package init(_ date: Date = Date(timeIntervalSince1970: 1_800_000_000)) {
        self.date = Locked(date)
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

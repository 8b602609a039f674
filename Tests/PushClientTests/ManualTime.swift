import Foundation
import PushClient
import Synchronization

/// A time that only the test moves.
final class ManualTime: Sendable {
    private let date: Mutex<Date>

    init(_ date: Date = Date(timeIntervalSince1970: 1_800_000_000)) {
        self.date = Mutex(date)
    }

    var now: Date { self.date.withLock { $0 } }

    func pass(_ seconds: TimeInterval) {
        self.date.withLock { $0 += seconds }
    }

    var options: PushClient.Options {
        var options = PushClient.Options()
        options.now = { self.now }
        return options
    }
}

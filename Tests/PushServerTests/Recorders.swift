import Foundation
import PushCore
import Synchronization

@testable import PushServer

/// Counts calls.
final class Counter: Sendable {
    private let value = Mutex(0)

    var count: Int { self.value.withLock { $0 } }

    func increment() {
        self.value.withLock { $0 += 1 }
    }
}

/// Two lanes, one of them paused, and a record of the lanes that were retried.
final class LaneRecorder: Sendable {
    private let lanes = Mutex<[Lane]>([])
    /// The end of the pause of APNs' lane.
    let until = Mutex(Date(timeIntervalSince1970: 1_000_000_060))

    var pauses: [Lane: Pause?] {
        let pause = Pause(
            .misconfigured,
            reason: "InvalidProviderToken",
            since: Date(timeIntervalSince1970: 1_000_000_000),
            until: self.until.withLock { $0 }
        )
        return [Lane(Platform("apns")): pause, Lane(Platform("apns"), part: "sandbox"): nil]
    }

    var retried: [String] { self.lanes.withLock { $0.map(\.description) } }

    func retry(_ lane: Lane) {
        self.lanes.withLock { $0.append(lane) }
    }
}

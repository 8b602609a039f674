import Foundation
import PushCore
import Synchronization

@testable import PushServer

/// Counts the calls of `increment`.
final class Counter: Sendable {
    private let value = Mutex(0)

    var count: Int { self.value.withLock { $0 } }

    func increment() {
        self.value.withLock { $0 += 1 }
    }
}

/// A stand-in for the delivery. It has two lanes (a lane is the queue of pushes to one provider),
/// and records which lanes were retried.
final class LaneRecorder: Sendable {
    private let lanes = Mutex<[Lane]>([])
    /// The time when the pause of the lane to APNs ends.
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

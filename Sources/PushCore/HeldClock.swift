package import Foundation
internal import Synchronization

/// The time by which data expires: the machine's clock, held back while it shows a time that is too far ahead.
///
/// Deletion cannot be undone, and a wrong time server or a resumed virtual machine can move the clock by months. The
/// clock compares each reading with `uptime`, which such a change does not affect. A reading that is too far ahead is
/// not believed: the clock counts on from the last reading that it believed, until the machine's clock is right again
/// or `accept()` is called. A clock that is behind is always believed, since it deletes nothing early.
package final class HeldClock: Sendable {
    /// A moment at which the clock was right, and what `uptime` showed then. It survives the process in a file.
    package struct Mark: Sendable, Hashable {
        package let time: Date
        /// Seconds since the machine has started.
        package let uptime: TimeInterval
        /// Identifies the machine's start that `uptime` counts from.
        package let boot: String

        package init(time: Date, uptime: TimeInterval, boot: String) {
            (self.time, self.uptime, self.boot) = (time, uptime, boot)
        }
    }

    /// The longest step ahead that is believed: corrections by time servers are shorter.
    package static let longestStep: TimeInterval = 3600
    /// The longest time that the machine may have been off between a mark and this process.
    package static let longestAbsence: TimeInterval = 7 * 86_400
    /// A machine without a clock of its own learns the time within this many seconds.
    package static let settlingTime: TimeInterval = 3600

    private let boot: String
    private let wall: @Sendable () -> Date
    private let uptime: @Sendable () -> TimeInterval
    // A mutex, since each request asks for the time.
    private let state: Mutex<State>

    /// A clock that continues from `mark`; without one, the first reading is believed.
    ///
    /// `wall` is the machine's clock, and `uptime` a clock that nobody can set. `boot` identifies the machine's start.
    package init(
        after mark: Mark? = nil,
        boot: String = HeldClock.boot,
        wall: @escaping @Sendable () -> Date = { Date() },
        uptime: @escaping @Sendable () -> TimeInterval = HeldClock.uptime
    ) {
        (self.boot, self.wall, self.uptime) = (boot, wall, uptime)
        let now = (wall: wall().timeIntervalSince1970, uptime: uptime())
        self.state = Mutex(State(after: mark, boot: boot, now.wall, now.uptime))
    }

    /// The time. Any thread may call it.
    package func now() -> Date {
        let (wall, uptime) = (self.wall().timeIntervalSince1970, self.uptime())
        return Date(timeIntervalSince1970: self.state.withLock { $0.time(wall, uptime) })
    }

    /// Whether the machine's clock is held back, and the seconds by which it is ahead of `now()`.
    package var held: TimeInterval? {
        let (wall, uptime) = (self.wall().timeIntervalSince1970, self.uptime())
        return self.state.withLock { state in
            let time = state.time(wall, uptime)
            return state.isHeld ? wall - time : nil
        }
    }

    /// Believes the machine's clock as it is now.
    package func accept() {
        let (wall, uptime) = (self.wall().timeIntervalSince1970, self.uptime())
        self.state.withLock { $0.accept(wall, uptime) }
    }

    /// The newest moment at which the clock was right; also a moment of a clock that is held back.
    package var mark: Mark {
        let uptime = self.uptime()
        let time = self.state.withLock { $0.offset + uptime }
        return Mark(time: Date(timeIntervalSince1970: time), uptime: uptime, boot: self.boot)
    }
}

extension HeldClock {
    /// The decision on each reading. All times are in seconds.
    private struct State {
        /// The largest difference between the time and the uptime that was believed.
        private(set) var offset: TimeInterval
        private(set) var isHeld = false
        /// Until this uptime the machine may still learn for how long it was off.
        private var settledAt = -TimeInterval.infinity

        init(after mark: Mark?, boot: String, _ wall: TimeInterval, _ uptime: TimeInterval) {
            guard let mark else {
                self.offset = wall - uptime
                return
            }
            let time = mark.time.timeIntervalSince1970
            if mark.boot == boot, mark.uptime <= uptime {
                self.offset = time - mark.uptime
            } else {
                self.offset = time - uptime
                self.settledAt = uptime + HeldClock.settlingTime
            }
        }

        mutating func time(_ wall: TimeInterval, _ uptime: TimeInterval) -> TimeInterval {
            let ahead = wall - uptime - self.offset
            let bound = uptime < self.settledAt ? HeldClock.longestAbsence : HeldClock.longestStep
            self.isHeld = ahead > bound
            if self.isHeld { return self.offset + uptime }
            if ahead > 0 { self.offset += ahead }
            return wall
        }

        mutating func accept(_ wall: TimeInterval, _ uptime: TimeInterval) {
            (self.offset, self.isHeld) = (wall - uptime, false)
        }
    }

    /// Seconds since the machine has started, including those for which it was suspended.
    package static let uptime: @Sendable () -> TimeInterval = {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return TimeInterval(time.tv_sec) + TimeInterval(time.tv_nsec) / 1e9
    }

    /// The kernel's identifier of the machine's start; empty if the kernel does not say.
    package static let boot: String = {
        let file = "/proc/sys/kernel/random/boot_id"
        // Without it, each start counts as one after a start of the machine.
        let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }()
}

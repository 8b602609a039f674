package import Foundation
internal import Synchronization

/// The time for all comparisons with an expiry. It is the time of the machine's clock, except
/// while the machine's clock is too far ahead.
///
/// Data deleted as expired cannot be restored, and a wrong time server or a resumed virtual
/// machine can move the machine's clock by months. Therefore this clock compares each reading of
/// the machine's clock with a reference, which is at most two days old, and with `uptime`, which
/// nobody can set. This clock rejects a reading that is too far ahead: the time then continues
/// from the last trusted reading, until the machine's clock is right again or `accept()` is
/// called. A machine's clock that is behind is always trusted, since nothing is deleted too early
/// because of it.
package final class HeldClock: Sendable {
    /// A moment at which the machine's clock was right, with the value of `uptime` at that moment.
    /// A file keeps the mark for the next process.
    package struct Mark: Sendable, Hashable {
        package let time: Date
        /// The number of seconds since the start of the machine.
        package let uptime: TimeInterval
        /// How many seconds `time` is ahead of the reference.
        package let step: TimeInterval
        /// How many seconds `time` is ahead of the lowest reading since the reference was chosen.
        package let rise: TimeInterval
        /// The uptime at which the next reference is chosen.
        package let next: TimeInterval
        /// Identifies the start of the machine from which `uptime` counts.
        package let boot: String

        package init(
            time: Date,
            uptime: TimeInterval,
            step: TimeInterval = 0,
            rise: TimeInterval = 0,
            next: TimeInterval,
            boot: String
        ) {
            (self.time, self.uptime, self.step, self.rise) = (time, uptime, step, rise)
            (self.next, self.boot) = (next, boot)
        }
    }

    /// The number of seconds by which a reading of the system's clock may be ahead of the expected
    /// time, and still be trusted. Corrections by time servers are smaller.
    package static let longestStep: TimeInterval = 3600
    /// How many seconds, at most, the machine may have been off between the time of a `Mark` and
    /// the start of this process.
    package static let longestAbsence: TimeInterval = 7 * 86_400
    /// A clock that shows a time before this date is wrong, because this program was written
    /// later.
    package static let programDate = Date(timeIntervalSince1970: 1_767_225_600)
    /// A period in seconds. At its end, the lowest trusted reading in this period becomes the new
    /// reference.
    package static let referencePeriod: TimeInterval = 86_400
    /// A machine without a battery for its clock learns the time within this many seconds after
    /// its start.
    package static let settlingTime: TimeInterval = 3600

    private let boot: String
    private let wall: @Sendable () -> Date
    private let uptime: @Sendable () -> TimeInterval
    // A mutex, and not an actor, protects the state, since each request reads the time and must
    // not have to wait for a task.
    private let state: Mutex<State>

    /// Creates a clock that continues from `mark`. Without a mark, it trusts the first reading of
    /// the machine's clock.
    ///
    /// `wall` is the machine's clock, and `uptime` a clock that nobody can set. `boot` identifies
    /// the start of the machine.
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

    /// The trusted time. Any thread may call this method.
    package func now() -> Date {
        self.read { state, wall, uptime in
            Date(timeIntervalSince1970: wall - max(0, state.error(wall, uptime)))
        }
    }

    /// How many seconds the machine's clock is ahead of `now()`; `nil` while the machine's clock
    /// is trusted.
    package var held: TimeInterval? {
        let error = self.read { $0.error($1, $2) }
        return error > 0 ? error : nil
    }

    /// How many seconds the machine's clock is behind a trusted time; `nil` if the difference is
    /// at most `longestStep`.
    ///
    /// Either the trusted time was wrong, or the clock is wrong now. Until `accept()` is called, a
    /// jump of the machine's clock up to the trusted time is not rejected.
    package var behind: TimeInterval? {
        let error = self.read { $0.error($1, $2) }
        return error < 0 ? -error : nil
    }

    /// Trusts the present reading of the machine's clock.
    package func accept() {
        self.read { $0.accept($1, $2) }
    }

    /// The present moment, for `init(after:)` of the next process. Its time is the time of the
    /// machine's clock, or that of the reference if the machine's clock is too far behind the
    /// reference.
    package var mark: Mark {
        self.read { state, wall, uptime in
            state.mark(wall, uptime, boot: self.boot)
        }
    }

    /// Calls `body` with the readings of the machine's clock and of `uptime`.
    private func read<Value>(_ body: (inout State, _ wall: TimeInterval, _ uptime: TimeInterval) -> Value) -> Value {
        let (wall, uptime) = (self.wall().timeIntervalSince1970, self.uptime())
        return self.state.withLock { body(&$0, wall, uptime) }
    }
}

extension HeldClock {
    /// Decides whether a reading of the machine's clock is trusted. All times are in seconds.
    private struct State {
        /// The reference: the difference between the time and the uptime at a trusted reading.
        private var offset: TimeInterval
        /// The difference between the time and the uptime at the last trusted reading.
        private var accepted: TimeInterval
        /// The lowest difference between the time and the uptime since the reference was chosen.
        /// Without this value, a jump of the clock just before the choice and another just after
        /// it could add up to more than the limit.
        private var lowest: TimeInterval
        /// How far a reading may be ahead of the reference.
        private var limit = HeldClock.longestStep
        /// The uptime at which a new reference is chosen, which is done once a day. If each
        /// reading became the reference, many small jumps of the clock could add up to a large
        /// one.
        private var next: TimeInterval

        init(after mark: Mark?, boot: String, _ wall: TimeInterval, _ uptime: TimeInterval) {
            self.next = uptime + HeldClock.referencePeriod
            guard let mark else {
                self.offset = wall - uptime
                (self.accepted, self.lowest) = (self.offset, self.offset)
                return
            }
            let time = mark.time.timeIntervalSince1970
            if mark.boot == boot, mark.uptime <= uptime {
                self.accepted = time - mark.uptime
                self.offset = self.accepted - mark.step
                self.lowest = self.accepted - mark.rise
                // If a server restarts often, it still gets a new reference once a day.
                self.next = min(self.next, mark.next)
            } else {
                self.offset = time - uptime
                (self.accepted, self.lowest) = (self.offset, self.offset)
                self.limit = HeldClock.longestAbsence
                self.next = uptime + HeldClock.settlingTime
            }
        }

        /// How many seconds the machine's clock is too far ahead. The number is negative if the
        /// clock is too far behind, and 0 while the clock is right.
        mutating func error(_ wall: TimeInterval, _ uptime: TimeInterval) -> TimeInterval {
            let ahead = wall - uptime - self.offset
            // A machine may show a time before this program's date until it learns the right one.
            let wasRight = self.offset + uptime >= HeldClock.programDate.timeIntervalSince1970
            // A reading that is far behind does not become the reference: the clock may be
            // corrected later.
            if wasRight, ahead < -HeldClock.longestStep { return ahead }
            if wasRight, ahead > self.limit { return wall - uptime - self.accepted }
            self.accepted = wall - uptime
            self.lowest = min(self.lowest, self.accepted)
            let isNext = uptime >= self.next
            // A limit above `longestStep` means that the machine was restarted. Its clock may have
            // been corrected since the restart, so this reading becomes the reference.
            if !wasRight || isNext && self.limit > HeldClock.longestStep {
                self.accept(wall, uptime)
            } else if isNext {
                (self.offset, self.lowest) = (self.lowest, self.accepted)
                self.next = uptime + HeldClock.referencePeriod
            }
            return 0
        }

        mutating func accept(_ wall: TimeInterval, _ uptime: TimeInterval) {
            (self.offset, self.limit) = (wall - uptime, HeldClock.longestStep)
            (self.accepted, self.lowest) = (self.offset, self.offset)
            self.next = uptime + HeldClock.referencePeriod
        }

        /// The mark of the present moment; its time is that of the reference if the machine's
        /// clock is too far behind the reference.
        mutating func mark(_ wall: TimeInterval, _ uptime: TimeInterval, boot: String) -> Mark {
            let isBehind = self.error(wall, uptime) < 0
            let step = isBehind ? 0 : self.accepted - self.offset
            return Mark(
                time: Date(timeIntervalSince1970: self.offset + step + uptime),
                uptime: uptime,
                step: step,
                rise: isBehind ? 0 : self.accepted - self.lowest,
                next: self.next,
                boot: boot
            )
        }
    }

    /// The number of seconds since the start of the machine, including the time while it was
    /// suspended.
    package static let uptime: @Sendable () -> TimeInterval = {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return TimeInterval(time.tv_sec) + TimeInterval(time.tv_nsec) / 1e9
    }

    /// The kernel's identifier of the start of the machine; empty if the kernel has none.
    package static let boot: String = {
        let file = "/proc/sys/kernel/random/boot_id"
        // Without the identifier, each start of the server is treated as if the machine had been
        // restarted.
        let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }()
}

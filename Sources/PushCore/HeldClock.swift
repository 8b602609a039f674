package import Foundation
internal import Synchronization

/// The time for all comparisons with an expiry: the machine's clock, held back while it is too far
/// ahead.
///
/// Deletion cannot be undone, and a wrong time server or a resumed virtual machine can move the
/// clock by months. The clock compares each reading with a reference of the last two days and with
/// `uptime`, which such a change does not affect. It rejects a reading that is too far ahead: the
/// time continues from the last trusted reading, until the machine's clock is right again or
/// `accept()` is called. A clock that is behind is always trusted, since it deletes nothing
/// early.
package final class HeldClock: Sendable {
    /// A moment at which the clock was right, with the value of `uptime` at that moment. A file
    /// keeps it for the next process.
    package struct Mark: Sendable, Hashable {
        package let time: Date
        /// Seconds since the start of the machine.
        package let uptime: TimeInterval
        /// How many seconds `time` is ahead of the reference.
        package let step: TimeInterval
        /// How many seconds `time` is ahead of the lowest reading since the reference was chosen.
        package let rise: TimeInterval
        /// The uptime at which the next reference is chosen.
        package let next: TimeInterval
        /// Identifies the start of the machine that `uptime` counts from.
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

    /// How far ahead of the reference a trusted reading may be: corrections by time servers are
    /// smaller.
    package static let longestStep: TimeInterval = 3600
    /// The longest time that the machine may have been off between a mark and this process.
    package static let longestAbsence: TimeInterval = 7 * 86_400
    /// A clock that shows an earlier time is wrong: this program was written later.
    package static let programDate = Date(timeIntervalSince1970: 1_767_225_600)
    /// How often the reference is replaced, by the lowest trusted reading since the last time.
    package static let referencePeriod: TimeInterval = 86_400
    /// A machine without a clock of its own learns the time within this many seconds.
    package static let settlingTime: TimeInterval = 3600

    private let boot: String
    private let wall: @Sendable () -> Date
    private let uptime: @Sendable () -> TimeInterval
    // This is a mutex and not an actor, since each request reads the time.
    private let state: Mutex<State>

    /// A clock that continues from `mark`; without a mark, it trusts the first reading.
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

    /// The time. Any thread may call it.
    package func now() -> Date {
        self.read { state, wall, uptime in
            Date(timeIntervalSince1970: wall - max(0, state.error(wall, uptime)))
        }
    }

    /// How many seconds the machine's clock is ahead of `now()` and held back; `nil` while it is
    /// trusted.
    package var held: TimeInterval? {
        let error = self.read { $0.error($1, $2) }
        return error > 0 ? error : nil
    }

    /// How many seconds the machine's clock is behind a trusted time; `nil` if it is behind by at
    /// most `longestStep`.
    ///
    /// Either the trusted time was wrong, or the clock is wrong now. Until `accept()` is called,
    /// the clock may jump ahead up to the trusted time.
    package var behind: TimeInterval? {
        let error = self.read { $0.error($1, $2) }
        return error < 0 ? -error : nil
    }

    /// Trusts the present reading of the machine's clock.
    package func accept() {
        self.read { $0.accept($1, $2) }
    }

    /// The present moment, for `init(after:)`. Its time is that of the machine's clock, or of the
    /// reference if the clock is too far behind it.
    package var mark: Mark {
        self.read { state, wall, uptime in
            state.mark(wall, uptime, boot: self.boot)
        }
    }

    /// Passes `body` the readings of both clocks.
    private func read<Value>(_ body: (inout State, _ wall: TimeInterval, _ uptime: TimeInterval) -> Value) -> Value {
        let (wall, uptime) = (self.wall().timeIntervalSince1970, self.uptime())
        return self.state.withLock { body(&$0, wall, uptime) }
    }
}

extension HeldClock {
    /// The decision on each reading. All times are in seconds.
    private struct State {
        /// The reference: the difference between the time and the uptime at a trusted reading.
        private var offset: TimeInterval
        /// The same difference at the last trusted reading.
        private var accepted: TimeInterval
        /// The lowest difference since the reference was chosen. Without this value, a step just
        /// before that moment and a step just after it would add up.
        private var lowest: TimeInterval
        /// How far a reading may be ahead of the reference.
        private var limit = HeldClock.longestStep
        /// The uptime at which a new reference is chosen, once a day. If each reading became the
        /// reference, many small steps could add up to a large one.
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
                // A server that restarts often gets a new reference once a day, too.
                self.next = min(self.next, mark.next)
            } else {
                self.offset = time - uptime
                (self.accepted, self.lowest) = (self.offset, self.offset)
                self.limit = HeldClock.longestAbsence
                self.next = uptime + HeldClock.settlingTime
            }
        }

        /// The seconds by which the machine's clock is too far ahead, or, negative, too far
        /// behind; 0 while it is right.
        mutating func error(_ wall: TimeInterval, _ uptime: TimeInterval) -> TimeInterval {
            let ahead = wall - uptime - self.offset
            // A machine may show a time before this program's date until it learns the right one.
            let wasRight = self.offset + uptime >= HeldClock.programDate.timeIntervalSince1970
            // A clock that is far behind is not a reference either: it may be corrected later.
            if wasRight, ahead < -HeldClock.longestStep { return ahead }
            if wasRight, ahead > self.limit { return wall - uptime - self.accepted }
            self.accepted = wall - uptime
            self.lowest = min(self.lowest, self.accepted)
            let isNext = uptime >= self.next
            // A wide limit means that the machine was restarted. Its clock may have been corrected
            // since, so this reading becomes the reference.
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

        /// Returns the present time, from the reference if the clock is too far behind it.
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

    /// Seconds since the start of the machine, including suspended time.
    package static let uptime: @Sendable () -> TimeInterval = {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return TimeInterval(time.tv_sec) + TimeInterval(time.tv_nsec) / 1e9
    }

    /// The kernel's identifier of the start of the machine; empty if the kernel has none.
    package static let boot: String = {
        let file = "/proc/sys/kernel/random/boot_id"
        // Without the identifier, each start of the server counts as one after a start of the
        // machine.
        let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }()
}

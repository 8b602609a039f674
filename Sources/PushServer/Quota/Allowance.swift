internal import Foundation
internal import Synchronization

/// The remaining quota of a user, shared by all event loops. It uses the generic cell rate
/// algorithm, whose state is a single number.
final class Allowance: Sendable {
    /// The time at which the whole quota is available again, in nanoseconds since 1970.
    private let fullAt = Atomic<Int64>(0)

    /// Charges one request, unless no request is left.
    func take(_ policy: QuotaPolicy, now: Date) -> QuotaPolicy.State {
        let now = Self.nanoseconds(now)
        var seen = self.fullAt.load(ordering: .relaxed)
        while true {
            let used = Self.used(seen, policy, now: now)
            let taken = used + policy.interval
            guard taken <= policy.tolerance else {
                if now + used != seen {
                    // Stores the time that belongs to `used`, which is limited. If an old value
                    // stayed that is far in the future, for example after the clock was set back,
                    // all requests until then would be refused.
                    let (isDone, current) = self.exchange(seen, for: now + used)
                    seen = current
                    if !isDone { continue }
                }
                return Self.state(policy, used: used, isExceeded: true)
            }
            let (isDone, current) = self.exchange(seen, for: now + taken)
            guard isDone else {
                seen = current
                continue
            }
            return Self.state(policy, used: taken, isExceeded: false)
        }
    }

    /// Charges `requests` even if fewer requests are left. The user's debt is at most a whole
    /// quota. Until the debt is paid back, further requests are refused.
    func charge(_ requests: Int, _ policy: QuotaPolicy, now: Date) {
        let now = Self.nanoseconds(now)
        let price = min(Int64(requests), policy.tolerance / policy.interval) * policy.interval
        var seen = self.fullAt.load(ordering: .relaxed)
        while true {
            let used = Self.used(seen, policy, now: now)
            let taken = max(used, min(used + price, policy.most))
            let (isDone, current) = self.exchange(seen, for: now + taken)
            if isDone { return }
            seen = current
        }
    }

    /// The state of the quota, without a charge.
    func state(_ policy: QuotaPolicy, now: Date) -> QuotaPolicy.State {
        let now = Self.nanoseconds(now)
        let used = Self.used(self.fullAt.load(ordering: .relaxed), policy, now: now)
        return Self.state(policy, used: used, isExceeded: false)
    }

    /// Whether all requests are available, so that a new allowance would be equal to this one.
    func isFull(at now: Date) -> Bool {
        self.fullAt.load(ordering: .relaxed) <= Self.nanoseconds(now)
    }

    /// The used part of the quota, as the number of nanoseconds until it is available again. The
    /// result is limited, because the clock may have been set back, and the user may have had a
    /// role with a longer window.
    private static func used(_ fullAt: Int64, _ policy: QuotaPolicy, now: Int64) -> Int64 {
        let used = max(0, fullAt - now)
        return used <= policy.most ? used : policy.tolerance
    }

    private static func state(_ policy: QuotaPolicy, used: Int64, isExceeded: Bool) -> QuotaPolicy.State {
        let left = policy.tolerance - used
        let rest = left > 0 ? left % policy.interval : left
        return QuotaPolicy.State(
            policy: policy,
            remaining: Int(max(0, left) / policy.interval),
            seconds: Self.seconds(policy.interval - rest),
            isExceeded: isExceeded
        )
    }

    /// Sets `fullAt` to `new` if it still is `seen`; `current` is the value of `fullAt` after the
    /// call.
    private func exchange(_ seen: Int64, for new: Int64) -> (isDone: Bool, current: Int64) {
        let (isDone, original) = self.fullAt.weakCompareExchange(expected: seen, desired: new, ordering: .relaxed)
        return (isDone, isDone ? new : original)
    }

    private static func nanoseconds(_ date: Date) -> Int64 {
        // Times are limited to the years 1970 to 2255, because the nanoseconds of later times
        // would not fit into the integer.
        Int64(max(0, min(9_000_000_000, date.timeIntervalSince1970)) * 1e9)
    }

    private static func seconds(_ nanoseconds: Int64) -> Int {
        Int((nanoseconds + 999_999_999) / 1_000_000_000)
    }
}

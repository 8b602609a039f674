internal import Foundation
internal import HTTPTypes
internal import PushCore
internal import SocketHTTP
internal import Synchronization

/// The number of requests that a user may make within a window, all of them at once if need be.
package struct Quota: Sendable, Hashable {
    package static let requestRange = 1...100_000_000
    /// In seconds.
    package static let windowRange = 1...86_400

    package let requests: Int
    /// Seconds.
    package let window: Int

    /// `nil` outside of the ranges.
    package init?(requests: Int, window: Int) {
        guard Self.requestRange.contains(requests), Self.windowRange.contains(window) else { return nil }
        self.requests = requests
        self.window = window
    }
}

/// The quota of a role, with its response fields already in bytes.
///
/// The fields are those of draft-ietf-httpapi-ratelimit-headers-10.
final class QuotaPolicy: Sendable {
    /// The rest of a quota after a request.
    struct State: Sendable {
        let policy: QuotaPolicy
        /// Requests that may follow at once.
        let remaining: Int
        /// Whole seconds, rounded up, until one more request is available.
        let seconds: Int
        /// Whether the request itself was over the quota.
        let isExceeded: Bool
    }

    /// Nanoseconds until one request is available again, and until all are.
    fileprivate let interval: Int64
    fileprivate let tolerance: Int64
    /// The number of requests over the quota.
    let excess = Atomic(0)
    private let policyField: ResponseFields
    private let start: [UInt8]

    init(_ quota: Quota, role: Role) {
        // At least ten, and at most a day's 86,400 · 10⁹: see the ranges.
        self.interval = Int64(quota.window) * 1_000_000_000 / Int64(quota.requests)
        self.tolerance = self.interval * Int64(quota.requests)
        self.policyField = [.rateLimitPolicy: "\"\(role.rawValue)\";q=\(quota.requests);w=\(quota.window)"]
        self.start = Array("\"\(role.rawValue)\";r=".utf8)
    }

    func addFields(_ state: State, to fields: inout ResponseFields) {
        fields.append(contentsOf: self.policyField)
        fields.append(line: "RateLimit: ") { bytes in
            bytes.append(contentsOf: self.start)
            bytes.append(decimal: state.remaining)
            bytes.append(";t=")
            bytes.append(decimal: state.seconds)
        }
    }
}

/// The rest of a user's quota, shared by all loops: the generic cell rate algorithm on a single number.
final class Allowance: Sendable {
    /// When all requests are available again, in nanoseconds since 1970.
    private let fullAt = Atomic<Int64>(0)

    /// Charges one request, unless none is left.
    func take(_ policy: QuotaPolicy, now: Date) -> QuotaPolicy.State {
        let now = Self.nanoseconds(now)
        var seen = self.fullAt.load(ordering: .relaxed)
        while true {
            let used = Self.used(seen, policy, now: now)
            let taken = used + policy.interval
            guard taken <= policy.tolerance else {
                if now + used != seen {
                    // Stores the bounded value, so that the wait in the answer does end.
                    let (isDone, current) = self.exchange(seen, for: now + used)
                    seen = current
                    if !isDone { continue }
                }
                policy.excess.wrappingAdd(1, ordering: .relaxed)
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

    /// Charges `requests` even if fewer are left, up to a debt of a whole quota. Further requests are refused until the
    /// debt is paid back.
    func charge(_ requests: Int, _ policy: QuotaPolicy, now: Date) {
        let now = Self.nanoseconds(now)
        let price = min(Int64(requests), policy.tolerance / policy.interval) * policy.interval
        var seen = self.fullAt.load(ordering: .relaxed)
        while true {
            let taken = min(Self.used(seen, policy, now: now) + price, 2 * policy.tolerance)
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

    /// Whether all requests are available, so that nothing is lost by forgetting the allowance.
    func isFull(at now: Date) -> Bool {
        self.fullAt.load(ordering: .relaxed) <= Self.nanoseconds(now)
    }

    /// The used part of the quota, in nanoseconds until it is available again. If the clock was set back, or the user
    /// had a role with a longer window, at most a whole quota counts as used.
    private static func used(_ fullAt: Int64, _ policy: QuotaPolicy, now: Int64) -> Int64 {
        let used = max(0, fullAt - now)
        return used <= 2 * policy.tolerance ? used : policy.tolerance
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

    /// `current` is the value afterwards.
    private func exchange(_ seen: Int64, for new: Int64) -> (isDone: Bool, current: Int64) {
        let (isDone, original) = self.fullAt.weakCompareExchange(expected: seen, desired: new, ordering: .relaxed)
        return (isDone, isDone ? new : original)
    }

    private static func nanoseconds(_ date: Date) -> Int64 {
        // From 1970 to 2255: beyond, the number would not fit.
        Int64(max(0, min(9_000_000_000, date.timeIntervalSince1970)) * 1e9)
    }

    private static func seconds(_ nanoseconds: Int64) -> Int {
        Int((nanoseconds + 999_999_999) / 1_000_000_000)
    }
}

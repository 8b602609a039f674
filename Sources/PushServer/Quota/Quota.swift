internal import Bytes
internal import Foundation
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// The number of requests that a user may make within a window, even all at once.
package struct Quota: Sendable, Hashable {
    /// The kind of requests that a quota limits.
    enum Kind: Sendable {
        case requests
        /// Requests that store something.
        case changes
    }

    package static let requestRange = 1...100_000_000
    /// In seconds.
    package static let windowRange = 1...86_400

    /// The least is 8, so that at least one change becomes available again within an eighth of a
    /// day.
    package static let changeRange = 8...100_000_000

    package let requests: Int
    /// The window of `requests`, in seconds.
    package let window: Int
    /// How many of a day's requests may store something; `nil`: all.
    package let changes: Int?

    /// `nil` outside of the ranges.
    package init?(requests: Int, window: Int, changes: Int? = nil) {
        guard
            Self.requestRange.contains(requests), Self.windowRange.contains(window),
            changes.map(Self.changeRange.contains) ?? true
        else { return nil }
        self.requests = requests
        self.window = window
        self.changes = changes
    }

    /// The quota of one kind.
    ///
    /// An eighth of a day's changes may come at once. A restart loses the record of their use, and
    /// so permits another eighth.
    func part(_ kind: Kind) -> Quota? {
        switch kind {
        case .requests: self
        case .changes: self.changes.flatMap { Quota(requests: $0 / 8, window: 86_400 / 8) }
        }
    }
}

/// The quota of a role as one server applies it. Each server of a shared store admits a whole
/// quota at once, and afterwards only its part of the rate.
///
/// Its response fields are those of draft-ietf-httpapi-ratelimit-headers-10.
struct QuotaPolicy: Sendable {
    /// The remaining quota after a request.
    struct State: Sendable {
        let policy: QuotaPolicy
        /// The number of requests that may follow at once.
        let remaining: Int
        /// Whole seconds, rounded up, until one more request is available.
        let seconds: Int
        /// Whether the request itself was over the quota.
        let isExceeded: Bool
    }

    /// Nanoseconds until one request is available again, and until all are.
    let interval: Int64
    let tolerance: Int64
    let requests: Int
    /// The window of each server in seconds: the quota's window times the number of servers.
    let window: Int
    /// The role's quota that it was made from, which also counts refused requests.
    let source: RoleQuota

    init(_ quota: Quota, of source: RoleQuota) {
        self.requests = quota.requests
        self.window = quota.window * source.servers.current
        self.source = source
        // The interval is at least 10, and the tolerance at most 64 days in nanoseconds: see the
        // ranges.
        self.interval = Int64(self.window) * 1_000_000_000 / Int64(quota.requests)
        self.tolerance = self.interval * Int64(quota.requests)
    }

    /// The largest used part, including debt.
    var most: Int64 { 2 * self.tolerance }

    /// Writes the lines of response fields, less than 200 bytes.
    func write(_ state: State, to writer: inout ByteWriter) {
        writer.write("RateLimit-Policy: ")
        writer.write(self.source.name)
        writer.write(";q=")
        writer.write(decimal: self.requests)
        writer.write(";w=")
        writer.write(decimal: self.window)
        writer.write("\r\nRateLimit: ")
        writer.write(self.source.name)
        writer.write(";r=")
        writer.write(decimal: state.remaining)
        writer.write(";t=")
        writer.write(decimal: state.seconds)
        writer.write("\r\n")
    }
}

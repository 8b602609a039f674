internal import Bytes
internal import Foundation
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// The number of requests that a user may make within a period, the window. The user may make all
/// of them at once.
package struct Quota: Sendable, Hashable {
    /// The kind of requests that a quota limits.
    enum Kind: Sendable {
        case requests
        /// Only requests that store something.
        case changes
    }

    package static let requestRange = 1...100_000_000
    /// The allowed lengths of the window, in seconds.
    package static let windowRange = 1...86_400

    /// The allowed numbers of changes per day. With the lowest number, 8, one change becomes
    /// available again in an eighth of a day.
    package static let changeRange = 8...100_000_000

    package let requests: Int
    /// The window of `requests`, in seconds.
    package let window: Int
    /// The number of requests that may store something within a day; `nil` if there is no limit.
    package let changes: Int?

    /// Returns `nil` if a number is outside of its range.
    package init?(requests: Int, window: Int, changes: Int? = nil) {
        guard
            Self.requestRange.contains(requests), Self.windowRange.contains(window),
            changes.map(Self.changeRange.contains) ?? true
        else { return nil }
        self.requests = requests
        self.window = window
        self.changes = changes
    }

    /// The quota of one kind of requests.
    ///
    /// An eighth of a day's changes may come at once. A restart of the server loses the record of
    /// the changes that were used, and so permits another eighth.
    func part(_ kind: Kind) -> Quota? {
        switch kind {
        case .requests: self
        case .changes: self.changes.flatMap { Quota(requests: $0 / 8, window: 86_400 / 8) }
        }
    }
}

/// The quota of a role as one server applies it. If several servers share a database, each admits
/// a whole quota at once. After that, each server admits requests only at its part of the quota's
/// rate.
///
/// The response fields about the quota follow draft-ietf-httpapi-ratelimit-headers-10.
struct QuotaPolicy: Sendable {
    /// The remaining quota after a request.
    struct State: Sendable {
        let policy: QuotaPolicy
        /// The number of further requests that are available now.
        let remaining: Int
        /// The number of seconds until one more request is available, rounded up.
        let seconds: Int
        /// Whether the request itself was refused, because the quota was used up.
        let isExceeded: Bool
    }

    /// The number of nanoseconds until one request is available again (`interval`), and until the
    /// whole quota is available again (`tolerance`).
    let interval: Int64
    let tolerance: Int64
    let requests: Int
    /// The window of each server in seconds: the quota's window times the number of servers.
    let window: Int
    let kind: Quota.Kind
    let role: Role

    // The policy contains no reference, since every request copies it several times.
    init(_ quota: Quota, _ kind: Quota.Kind, of role: Role, servers: Int) {
        self.requests = quota.requests
        self.window = quota.window * servers
        (self.kind, self.role) = (kind, role)
        // Because of the ranges of `Quota`, the interval is at least 10 nanoseconds, and the
        // tolerance at most 64 days.
        self.interval = Int64(self.window) * 1_000_000_000 / Int64(quota.requests)
        self.tolerance = self.interval * Int64(quota.requests)
    }

    /// The largest used part of a quota, in nanoseconds: a whole quota and, for `requests`, the
    /// debt of another whole quota. A longer time than that means that the clock was set back.
    var most: Int64 { self.kind == .changes ? self.tolerance : 2 * self.tolerance }

    /// Writes the response fields about the quota, which have less than 200 bytes.
    func write(_ state: State, to writer: inout ByteWriter) {
        writer.write("RateLimit-Policy: ")
        writer.write(self.role.inQuotes)
        writer.write(";q=")
        writer.write(decimal: self.requests)
        writer.write(";w=")
        writer.write(decimal: self.window)
        writer.write("\r\nRateLimit: ")
        writer.write(self.role.inQuotes)
        writer.write(";r=")
        writer.write(decimal: state.remaining)
        writer.write(";t=")
        writer.write(decimal: state.seconds)
        writer.write("\r\n")
    }
}

extension Role {
    /// The name for response fields, as a constant that needs no copy.
    fileprivate var inQuotes: StaticString {
        switch self {
        case .device: #""device""#
        case .viewer: #""viewer""#
        case .publisher: #""publisher""#
        case .admin: #""admin""#
        }
    }
}

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
    let interval: Int64
    let tolerance: Int64
    let role: Role
    /// The number of requests over the quota.
    let excess = Atomic(0)
    private let policyField: ResponseFields
    private let start: [UInt8]
    /// Where it is noted what the other servers must know; `nil`: there are none.
    let book: UseBook?

    init(_ quota: Quota, role: Role, book: UseBook? = nil) {
        self.role = role
        self.book = book
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

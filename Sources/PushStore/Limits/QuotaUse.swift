package import PushCore

/// How much of its quota a user has used on one server since that server's last news.
package struct QuotaUse: Sendable, Hashable {
    /// The largest number of uses in one exchange.
    package static let limit = 4096
    /// Uses that are older are no longer charged.
    package static let lifetime = Duration.seconds(10)

    /// The kind of the role's quota.
    package enum Kind: UInt8, Sendable, CaseIterable {
        case requests = 0
        /// Requests that store something.
        case changes = 0x10
    }

    package let user: Int64
    /// The role whose quota it was.
    package let role: Role
    package let kind: Kind
    package let requests: Int

    package init(user: Int64, role: Role, kind: Kind = .requests, requests: Int) {
        self.user = user
        self.role = role
        self.kind = kind
        self.requests = requests
    }
}

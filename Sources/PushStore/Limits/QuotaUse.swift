package import PushCore

/// How much of its quota a user has used on one server since the others were told last.
package struct QuotaUse: Sendable, Hashable {
    /// The most that are told at a time.
    package static let bound = 4096
    /// What was used longer ago is not charged any more.
    package static let lifetime = Duration.seconds(10)

    /// Which quota of the role it was.
    package enum Kind: UInt8, Sendable, CaseIterable {
        case requests = 0
        /// Of requests that store something.
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

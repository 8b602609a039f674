package import PushCore

/// How much of its quota a user has used on one server since the others were told last.
package struct QuotaUse: Sendable, Hashable {
    /// The most that are told at a time.
    package static let bound = 4096
    /// What was used longer ago is not charged any more.
    package static let lifetime = Duration.seconds(10)

    package let user: Int64
    /// The role whose quota it was.
    package let role: Role
    package let requests: Int

    package init(user: Int64, role: Role, requests: Int) {
        self.user = user
        self.role = role
        self.requests = requests
    }
}

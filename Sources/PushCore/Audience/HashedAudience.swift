package import Foundation

/// An audience with the keyed hashes for the lookups in the database. The hashes are computed
/// before the store's transaction begins.
package struct HashedAudience: Sendable {
    package let audience: Audience
    /// The users whom the audience names, with the keyed hashes of their names.
    package let users: [(name: Username, key: Data)]
    /// The branches of the audience, which together contain all of its devices and users. First
    /// come the branches with devices, one for each tag, then the branches with users, one for
    /// each tag.
    ///
    /// The number and the order of the branches depend only on the audience: a running broadcast
    /// stores its position as an index of a branch.
    package let branches: [AudienceBranch]
    /// Whether the audience consists of one tag, without any other condition.
    package let isOneTag: Bool
    /// Computes the hashes of tags for the SQL conditions.
    package let index: BlindIndex
    package let policy: TagPolicy

    package init(_ audience: Audience, _ index: BlindIndex, _ policy: TagPolicy) {
        self.audience = audience
        self.index = index
        self.policy = policy
        self.users = audience.usernames.map { ($0, index.hash($0)) }
        if let tags = audience.branches {
            self.branches =
                tags.map { $0.isReserved || policy.isOpen($0) ? .devicesWith(tag: index.hash($0)) : .nothing }
                + tags.map { tag in
                    guard let name = tag.username else { return .usersWith(tag: index.hash(tag)) }
                    // If an expression is only a user's name, the branch is empty, because the
                    // post itself makes this user a recipient.
                    return audience.usernames.contains(name) ? .nothing : .user(key: index.hash(name))
                }
        } else {
            self.branches = [.devices]
        }
        let isOneExpression = audience.platforms == nil && audience.expressions.count == 1
        self.isOneTag = if isOneExpression, case .tag = audience.expressions[0] { true } else { false }
    }

    /// Whether the audience is a single device.
    package var isOneDevice: Bool { if case .device = self.audience.aim { true } else { false } }
}

/// A branch of an audience: a part whose rows a single index lists.
package enum AudienceBranch: Sendable, Hashable {
    /// All registered devices.
    case devices
    /// The devices with the tag, whether the device or the server has set it.
    case devicesWith(tag: Data)
    /// The users who were given the tag, with all their devices.
    case usersWith(tag: Data)
    /// The user whose name has this keyed hash, without the user's devices.
    case user(key: Data)
    /// No rows: this tag adds no device and no user.
    case nothing
}

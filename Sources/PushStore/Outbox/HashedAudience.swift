package import Foundation
package import PushCore

/// An audience with the keyed hashes for its lookups. They are made before the store's writer
/// runs.
package struct HashedAudience: Sendable {
    package let audience: Audience
    /// The users that the audience names.
    package let users: [(name: Username, key: Data)]
    /// The parts that together contain all devices and users of the audience: for each tag its
    /// devices, and then for each tag its users.
    ///
    /// The number and the order of these parts depend only on the audience, since a running
    /// broadcast stores its position as an index.
    package let branches: [AudienceBranch]
    /// Whether the only condition on a device or user is one tag.
    package let isOneTag: Bool
    /// The hashes for the conditions on tags.
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
                    // Users named without other conditions become recipients with the post itself.
                    return audience.usernames.contains(name) ? .nothing : .user(key: index.hash(name))
                }
        } else {
            self.branches = [.devices]
        }
        if audience.platforms == nil, audience.expressions.count == 1, case .tag = audience.expressions[0] {
            self.isOneTag = true
        } else {
            self.isOneTag = false
        }
    }

    /// Whether the audience is one device of a user.
    package var isOneDevice: Bool { if case .device = self.audience.aim { true } else { false } }
}

/// A part of an audience that one index lists, row by row.
package enum AudienceBranch: Sendable, Hashable {
    /// All devices.
    case devices
    /// The devices that have set the tag themselves, or have it from the server.
    case devicesWith(tag: Data)
    /// The users to whom the tag was given, with their devices.
    case usersWith(tag: Data)
    /// One user, by the keyed hash of the name, without the devices.
    case user(key: Data)
    /// The branch has no rows: the tag adds no device or user.
    case nothing
}

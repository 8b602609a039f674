package import Foundation
package import PushCore

/// The audiences that the sender of a scheduled notification may address at the time of its
/// release.
package enum SenderRight: Sendable, Hashable {
    /// All users in these apps; if `nil`, all users of all apps.
    case everything(in: Set<AppName>?)
    /// Only the sender itself, identified by the keyed hash of its name, in these apps.
    case itself(Data, in: Set<AppName>)
    /// No audience, because the sender was deleted or disabled.
    case nothing

    /// The right of a sender who is not disabled.
    package init(role: String, key: Data, apps: Set<AppName>) {
        switch Role(rawValue: role) {
        case .admin?: self = .everything(in: nil)
        case .publisher?: self = .everything(in: apps)
        case .device?, .viewer?: self = .itself(key, in: apps)
        case nil: self = .nothing
        }
    }

    package func covers(_ audience: HashedAudience) -> Bool {
        switch self {
        case .everything(let apps): apps?.contains(audience.audience.app) ?? true
        case .itself(let key, let apps):
            apps.contains(audience.audience.app) && audience.users.count == audience.audience.expressions.count
                && audience.users.allSatisfy { $0.key == key }
        case .nothing: false
        }
    }
}

package import Foundation
package import PushCore

/// The audiences that the user who has scheduled a notification may address when it is released.
package enum SenderRight: Sendable, Hashable {
    /// Everybody in these apps; `nil`: in all apps.
    case everything(in: Set<AppName>?)
    /// Only the user itself, identified by the keyed hash of its name, in these apps.
    case itself(Data, in: Set<AppName>)
    /// The user was deleted or disabled.
    case nothing

    /// The right of an enabled user.
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

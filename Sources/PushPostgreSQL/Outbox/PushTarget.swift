internal import Foundation
internal import PushStore

/// The notification that is pushed to the devices of an audience.
struct PushTarget: Sendable {
    let id: Int64
    /// The notification's place in the order of notifications, which does not depend on the clocks
    /// of the processes.
    let sequence: Int64
    let collapseID: String?
    let isReadOnce: Bool
    let expiresAt: Date
    let audience: HashedAudience
}

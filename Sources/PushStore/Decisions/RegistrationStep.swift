package import Foundation
package import PushCore

/// The next step of a store that follows a decision.
package enum RegistrationStep<Outcome: HandleOutcome>: Sendable, Equatable {
    /// Read a fact, and decide again.
    case read(RegistrationQuestion)
    /// Write nothing.
    case end(Outcome)
    /// Register the handle; the outcome is `registered`.
    case register(RegistrationPlan)
    /// Store a claim to the handle; `or`: the outcome if the notification's id is in use.
    case claim(ClaimPlan, Outcome, or: Outcome)
    /// Count a wrong code.
    case countFailure(claimKey: Data, Outcome)
}

/// The outcomes that registration and confirmation have in common.
package protocol HandleOutcome: Sendable, Equatable {
    static var signedOut: Self { get }
    static var tooMany: Self { get }
    static func registered(moved: Int) -> Self
}

extension RegisterOutcome: HandleOutcome {}
extension ConfirmOutcome: HandleOutcome {}

/// The columns that a device and a claim have in common.
package struct HandleValues: Sendable, Hashable {
    package let registration: DeviceRegistration
    package let key: Data
    /// The device's own tags. For a device, unlike a claim, the tag of its user is added.
    package let tags: Set<Tag>
    package let at: Date
    /// If this token is a session's, the device belongs to the session.
    package let token: TokenPrefix?
    /// Whether the device may move to the platform's other environment again.
    package let isMovable: Bool
}

/// The registration of a handle for a device. A store writes the changes in the order of these
/// properties.
package struct RegistrationPlan: Sendable, Hashable {
    /// A device that had the handle before.
    package struct Retirement: Sendable, Hashable {
        package let device: Int64
        package let user: Int64
        package let reason: String
        /// The platform, if another user now registers the handle; otherwise `nil`.
        package let platform: Platform?
    }

    package let device: Int64
    package let retired: [Retirement]
    /// The device's claim, which ends.
    package let claim: Int64?
    package let values: HandleValues
    package let records: [AuditRecord]
    /// Whether earlier accepted pushes do not show that the device's new address works.
    package let forgetsPushes: Bool
    /// Whether the waiting pushes move to a new lane.
    package let movesPushes: Bool
    /// The key of the claim whose code was used.
    package let usedCode: Data?
    /// Whether the change erases stored values, which the database must then wipe.
    package let isErasing: Bool
}

/// A claim to a handle, and the push of its code.
package struct ClaimPlan: Sendable, Hashable {
    /// The push of a code. Its notification has neither payload nor recipients.
    package struct CodePush: Sendable, Hashable {
        package let notification: NotificationID
        package let due: Date

        package var expiresAt: Date { self.due + HandleClaim.lifetime.timeInterval }
    }

    /// The push of a new code; `nil`: an earlier push carries the code. The store inserts the
    /// push's notification first, so that nothing has changed if its id is in use.
    package let push: CodePush?
    package let device: Int64
    /// The device's claim to another handle, which ends.
    package let ended: Int64?
    /// The user's claim to the same handle, which becomes the device's.
    package let earlier: Int64?
    package let values: HandleValues
    package let record: AuditRecord?
}

package import Foundation
package import PushCore

/// The next step that a decision requires of the store.
package enum RegistrationStep: Sendable, Equatable {
    /// The store must read this fact, and then ask for the next step.
    case read(RegistrationQuestion)
    /// The store writes nothing; the request has this outcome.
    case end(RegisterOutcome)
    /// The store must write this plan; the outcome is `registered`.
    case register(RegistrationPlan)
    /// The store must write this claim to a handle. If the id of the code's notification is in
    /// use, the outcome is `or`.
    case claim(ClaimPlan, RegisterOutcome, or: RegisterOutcome)
    /// The store must count a wrong code; the request has this outcome.
    case countFailure(claimKey: Data, RegisterOutcome)
}

/// The columns of `device` that a device and a claim to a handle both have.
package struct HandleValues: Sendable, Hashable {
    package let registration: DeviceRegistration
    package let key: Data
    /// The tags that the device has chosen. For a device, the store adds the tag with the user's
    /// name; for a claim to a handle, it does not.
    package let tags: Set<Tag>
    package let at: Date
    /// The token that the user has presented. If it belongs to a session, the device ends with
    /// that session.
    package let token: TokenPrefix?
    /// Whether the device may be moved to the platform's other environment again.
    package let isMovable: Bool
}

/// A plan that registers a handle for a device. The store writes the changes in the order of the
/// plan's properties.
package struct RegistrationPlan: Sendable, Hashable {
    /// The retirement of a device that had the handle before.
    package struct Retirement: Sendable, Hashable {
        package let device: Int64
        package let user: Int64
        package let reason: String
        /// The platform, if another user now registers the handle; otherwise `nil`.
        package let platform: Platform?
    }

    package let device: Int64
    package let retired: [Retirement]
    /// The device's claim to a handle; the store deletes the claim. `nil` if there is no claim.
    package let claim: Int64?
    package let values: HandleValues
    package let records: [AuditRecord]
    /// Whether the times of earlier accepted pushes are deleted, since those pushes do not show
    /// that the device's new address works.
    package let forgetsPushes: Bool
    /// Whether the waiting pushes to the device move to a new lane (a provider's queue).
    package let movesPushes: Bool
    /// The key of the claim to the handle, if its code was used; `nil` if no code was used.
    package let usedCode: Data?
    /// Whether the registration erases stored values, so that the database must wipe them.
    package let isErasing: Bool
}

/// A plan that stores a claim to a handle, and the push of a code to that handle.
package struct ClaimPlan: Sendable, Hashable {
    /// The push of a code. Its notification has no payload and no recipients.
    package struct CodePush: Sendable, Hashable {
        package let notification: NotificationID
        package let due: Date

        package var expiresAt: Date { self.due + HandleClaim.lifetime.timeInterval }
    }

    /// The push of a new code; `nil` if an earlier push already contains a valid code. The store
    /// inserts the push's notification first: if its id is in use, nothing has changed yet.
    package let push: CodePush?
    package let device: Int64
    /// The device's claim to another handle; the store deletes the claim. `nil` if there is no
    /// such claim.
    package let ended: Int64?
    /// The user's earlier claim to the same handle; this claim now belongs to this device. `nil`
    /// if there is no such claim.
    package let earlier: Int64?
    package let values: HandleValues
    package let record: AuditRecord?
}

package import Foundation
package import PushCore

/// A question about a fact that a decision on a registration needs. A store answers it with one
/// statement.
package enum RegistrationQuestion: Sendable, Hashable {
    /// Whether the token is still valid. It may have ended after the server admitted the request.
    /// A device that registers after that would not be retired with its session.
    case isSignedIn(TokenPrefix)
    /// The device with this id, if the id was issued to the user and belongs to no claim to a
    /// handle. If `holders` is not `nil`, the decision will also ask for the rows that this search
    /// finds; the store may read them at the same time.
    case device(RegistrationID, holders: HandleSearch?)
    /// Whether the user has a device with this handle. The store must read no row of another user:
    /// otherwise the duration could reveal whether such a row exists.
    case isHeld(HandleSearch)
    /// The devices, and the unconfirmed claims, that have this handle.
    case holders(HandleSearch)
    /// The claim with this number (a claim to a handle), if it belongs to the device.
    case claim(Int64, device: Int64)
    case confirmation(claimKey: Data)
    /// The times at which the user's confirmation codes were pushed after `since`, the newest
    /// first. The store skips the first `skipping` of them, and reads the next one.
    case pushAtLimit(since: Date, skipping: Int)
    /// The number of devices that the user has registered; counting stops at `limit`.
    case deviceCount(butFor: Int64?, limit: Int)
    /// The encrypted names of these users.
    case names([Int64])
}

/// A search for rows of `device` that have a handle: rows of one user or, if `user` is `nil`, of
/// all users.
package struct HandleSearch: Sendable, Hashable {
    package let platform: Platform
    package let key: Data
    package let user: Int64?
}

/// The facts that a store has read for a decision. A property is `nil` until the store has read
/// it.
package struct RegistrationFacts: Sendable {
    package var isSignedIn: Bool?
    package var device: [StoredDevice]?
    package var isHeld: Bool?
    package var holders: [StoredDevice]?
    package var claim: [StoredDevice]?
    package var confirmation: [Confirmation]?
    package var pushAtLimit: [Date]?
    package var deviceCount: Int?
    package var names: [Int64: Data]?

    private var rounds = 0

    package init() {}

    /// The next step of a decision. Throws if the store does not read the facts that the decision
    /// asks for.
    package mutating func next(_ decide: (RegistrationFacts) throws -> RegistrationStep) throws -> RegistrationStep {
        self.rounds += 1
        // A decision asks each of its nine questions at most once, so it needs at most ten rounds.
        guard self.rounds <= 10 else {
            throw StoreError.failed(reason: "the store does not read the facts of a decision")
        }
        return try decide(self)
    }
}

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

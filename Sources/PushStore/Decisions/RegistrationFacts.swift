package import Foundation
package import PushCore

/// A fact that a decision on a registration needs. A store reads it with one statement.
package enum RegistrationQuestion: Sendable, Hashable {
    /// Whether the token is still valid. It may have ended after the server admitted the request,
    /// and the end of a session cannot retire a device that registers later.
    case isSignedIn(TokenPrefix)
    /// The device with the id, if the id was issued to the user and is not a claim's. If the
    /// decision will also ask for `holders`, the store may read both at once.
    case device(RegistrationID, holders: HandleSearch?)
    /// Whether the user has a device with the handle. The store must read no other user's rows, so
    /// that the duration reveals nothing about them.
    case isHeld(HandleSearch)
    /// The devices or claims with the handle.
    case holders(HandleSearch)
    /// The claim with the number, if it is a claim of the device.
    case claim(Int64, device: Int64)
    case confirmation(claimKey: Data)
    /// The time of the newest code that was pushed for the user after `since`, not counting the
    /// `skipping` newest codes.
    case pushAtLimit(since: Date, skipping: Int)
    /// How many devices the user has registered, at most `limit`.
    case deviceCount(butFor: Int64?, limit: Int)
    /// The encrypted names of users.
    case names([Int64])
}

/// The rows of `device` with a handle: of one user, or of all users.
package struct HandleSearch: Sendable, Hashable {
    package let platform: Platform
    package let key: Data
    package let user: Int64?
}

/// The rows and counts that a store has read for a decision; `nil` before it has read them.
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

    /// The next step of a decision. Throws if the store does not read the facts.
    package mutating func next<Outcome>(
        _ decide: (RegistrationFacts) throws -> RegistrationStep<Outcome>
    ) throws -> RegistrationStep<Outcome> {
        self.rounds += 1
        // A decision asks each of its nine questions once.
        guard self.rounds <= 10 else {
            throw StoreError.failed(reason: "the store does not read the facts of a decision")
        }
        return try decide(self)
    }
}

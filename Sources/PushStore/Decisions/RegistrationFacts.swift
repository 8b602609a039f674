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

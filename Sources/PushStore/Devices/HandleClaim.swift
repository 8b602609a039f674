/// A user's claim to a handle that others can guess, until the user has returned the code that was
/// pushed to it.
package enum HandleClaim {
    /// How long a code is valid, and a claim is kept.
    package static let lifetime = Duration.seconds(3600)
    /// The shortest time between two codes that are pushed to one handle for one user.
    package static let interval = Duration.seconds(60)
    /// How many handles a user may claim within `lifetime`.
    package static let handles = 20
    /// The number of wrong codes after which the right one is refused too.
    package static let attempts = 5
}

/// The outcome of a confirmation.
package enum ConfirmOutcome: Sendable, Hashable {
    /// The device is registered, by this request or by an earlier one with the same code; `moved`
    /// is as in `RegisterOutcome`.
    case registered(moved: Int)
    /// The code is wrong or no longer valid, or nothing is claimed.
    case refused
    /// The id cannot be used any more; the device must ask for a new one.
    case gone(reason: String)
    /// The user has the maximum number of devices; the claim stays.
    case tooMany
    /// The id was not issued to this account.
    case missing
    /// The token has ended since the server admitted the request: the device is not registered.
    case signedOut
}

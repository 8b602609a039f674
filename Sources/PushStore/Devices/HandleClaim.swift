/// Limits of a user's claim to a handle that other users could guess. A claim lasts until the user
/// has returned the code that was pushed to the handle.
package enum HandleClaim {
    /// How long a code is valid, and how long a claim to a handle is stored.
    package static let lifetime = Duration.seconds(3600)
    /// The minimum time between two codes that are pushed to the same handle for the same user.
    package static let interval = Duration.seconds(60)
    /// The number of handles that a user may claim within `lifetime`.
    package static let handles = 20
    /// The number of wrong codes after which even the right code is refused.
    package static let attempts = 5
}

/// The outcome of a request with which a user returns a code.
package enum ConfirmOutcome: Sendable, Hashable {
    /// The device is registered, by this request or by an earlier request with the same code.
    /// `moved` has the same meaning as in `RegisterOutcome`.
    case registered(moved: Int)
    /// The code is wrong or no longer valid, or the device has claimed no handle.
    case refused
    /// The id can no longer be used; the device must request a new one.
    case gone(reason: String)
    /// The user already has the maximum number of devices; the claim to the handle remains.
    case tooMany
    /// The id was not issued to this account.
    case missing
    /// The token has ended since the server admitted the request, so the device is not registered.
    case signedOut
}

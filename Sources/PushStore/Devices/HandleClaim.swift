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

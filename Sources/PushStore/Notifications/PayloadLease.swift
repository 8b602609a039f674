/// A user's lease of a payload that may be read once: until it ends, the user may fetch the payload again.
package enum PayloadLease: Sendable, Hashable {
    /// The lease begins with this call.
    case granted
    /// The user has it already.
    case held
    /// There is nothing to lease: the user is no recipient, the lease has ended, or the payload is gone.
    case refused

    /// How long a lease lasts, the same for all.
    package static let length = Duration.seconds(60)
}

/// The outcome of taking a payload that may be read once.
package enum TakeOutcome: Sendable, Hashable {
    /// The user's lease has ended with this call.
    case taken
    /// The user's lease had ended before.
    case takenBefore
    /// The user has not fetched the payload, and nothing was changed.
    case notFetched
    /// The payload may be read as often as its recipient likes, and nothing was changed.
    case notReadOnce
    /// The user can see no such notification, and has never had it.
    case missing
}

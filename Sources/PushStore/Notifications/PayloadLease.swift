/// A user's lease of a read-once payload: until it ends, the user may fetch the payload again.
package enum PayloadLease: Sendable, Hashable {
    /// The lease begins with this call.
    case granted
    /// The user has a lease already.
    case held
    /// There is nothing to lease: the user is not a recipient, the lease has ended, or the payload
    /// is erased.
    case refused

    /// How long a lease lasts, the same for all.
    package static let length = Duration.seconds(60)
}

/// The outcome of taking a read-once payload.
package enum TakeOutcome: Sendable, Hashable {
    /// The user's lease has ended with this call.
    case taken
    /// The user's lease had ended before.
    case takenBefore
    /// The user has not fetched the payload, and nothing was changed.
    case notFetched
    /// The payload may be read as often as its recipient likes, and nothing was changed.
    case notReadOnce
    /// The user cannot see and never had such a notification.
    case missing
}

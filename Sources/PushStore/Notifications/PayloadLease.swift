/// A user's lease of a read-once payload. Until it ends, the user may fetch the payload again.
package enum PayloadLease: Sendable, Hashable {
    /// This call has begun the lease.
    case granted
    /// The user already has a lease that has not ended.
    case held
    /// No lease is possible: the user is no recipient, the lease has ended, or the payload was
    /// erased.
    case refused

    /// The duration of every lease.
    package static let length = Duration.seconds(60)
}

/// The outcome of a user's confirmation that a read-once payload has arrived.
package enum TakeOutcome: Sendable, Hashable {
    /// This call has ended the user's lease.
    case taken
    /// The user's lease had already ended before this call.
    case takenBefore
    /// The user has not fetched the payload yet, so nothing was changed.
    case notFetched
    /// The payload is not read-once, so nothing was changed.
    case notReadOnce
    /// The user does not see this notification, and has never had it.
    case missing
}

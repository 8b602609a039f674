package import PushCore

/// A notification to be stored, with the other rows of the same transaction.
package struct NewPost: Sendable {
    package let notification: NewNotification
    /// The notification's audience, with the store's hashes.
    package let audience: HashedAudience
    /// The request that stores it once, however often it is sent; `nil`: each request stores
    /// another notification.
    package let request: IdempotentRequest?
    package let record: AuditRecord?
    /// The seed of its pushes' ids; also identifies the notification if its transaction runs
    /// twice.
    package let seed = Int64.random(in: .min ... .max)

    package init(
        _ notification: NewNotification,
        to audience: HashedAudience,
        once request: IdempotentRequest? = nil,
        by record: AuditRecord? = nil
    ) {
        self.notification = notification
        self.audience = audience
        self.request = request
        self.record = record
    }
}

package import PushCore

/// A notification to be stored, with what is stored beside it in the same transaction.
package struct NewPost: Sendable, Hashable {
    package let notification: NewNotification
    /// The request that stores it once, however often it is sent; `nil`: each request stores it anew.
    package let request: IdempotentRequest?
    package let record: AuditRecord?

    package init(_ notification: NewNotification, once request: IdempotentRequest? = nil, by record: AuditRecord? = nil)
    {
        self.notification = notification
        self.request = request
        self.record = record
    }
}

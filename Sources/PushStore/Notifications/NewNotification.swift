package import Foundation
package import PushCore

/// A notification to be stored; its payload and its alert are encrypted already.
package struct NewNotification: Sendable, Hashable {
    package let id: NotificationID
    package let sender: Int64
    package let sealedPayload: Data
    /// A `PushAlert` as JSON, encrypted; `nil`: the pushes show the fixed alert text of the
    /// provider's configuration.
    package let sealedAlert: Data?
    package let audience: Audience
    package let isStoredByClients: Bool
    package let isReadOnce: Bool
    package let isEndToEnd: Bool
    package let priority: Push.Priority
    /// An id that is the same for all pushes that replace one another. It is made from the
    /// publisher's key for them, and reveals nothing about that key.
    package let collapseID: String?
    package let createdAt: Date
    package let expiresAt: Date
    /// When the notification is sent; `nil`: at once.
    package let sendAt: Date?

    package init(
        id: NotificationID,
        sender: Int64,
        sealedPayload: Data,
        sealedAlert: Data? = nil,
        audience: Audience,
        isStoredByClients: Bool,
        isReadOnce: Bool,
        isEndToEnd: Bool = false,
        priority: Push.Priority,
        collapseID: String?,
        createdAt: Date,
        expiresAt: Date,
        sendAt: Date? = nil
    ) {
        self.id = id
        self.sender = sender
        self.sealedPayload = sealedPayload
        self.sealedAlert = sealedAlert
        self.audience = audience
        self.isStoredByClients = isStoredByClients
        self.isReadOnce = isReadOnce
        self.isEndToEnd = isEndToEnd
        self.priority = priority
        self.collapseID = collapseID
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.sendAt = sendAt
    }
}

/// The outcome of a post.
package enum PostOutcome: Sendable, Hashable {
    /// The notification is durable, and so are its pushes, if there are any now. A scheduled
    /// notification has no reach yet.
    case stored(Reach, hasWork: Bool = true)
    /// The id is in use: choose another and encrypt again.
    case idTaken
    case unknownUser(Username)
    /// A user whom the post names gets end-to-end payloads only.
    case encryptionRequired(Username)
    /// The same request was stored before, and is not stored again. `reach` is `nil` if it was not
    /// complete when the request was stored.
    case repeated(NotificationID, createdAt: Date, expiresAt: Date, reach: Reach?)
    /// Another request has used the same idempotency key.
    case keyReused
    /// The sender has reached its storage limits.
    case tooMuch(StorageExcess)
}

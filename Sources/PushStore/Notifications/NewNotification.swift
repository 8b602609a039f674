package import Foundation
package import PushCore

/// A notification to be stored; its payload is encrypted already.
package struct NewNotification: Sendable, Hashable {
    package let id: NotificationID
    package let sender: Int64
    package let sealedPayload: Data
    package let audience: Audience
    package let isStoredByClients: Bool
    package let isReadOnce: Bool
    package let priority: Push.Priority
    /// The same for all pushes of which only the newest counts; tells nothing of the key that it was made of.
    package let collapseID: String?
    package let createdAt: Date
    package let expiresAt: Date

    package init(
        id: NotificationID,
        sender: Int64,
        sealedPayload: Data,
        audience: Audience,
        isStoredByClients: Bool,
        isReadOnce: Bool,
        priority: Push.Priority,
        collapseID: String?,
        createdAt: Date,
        expiresAt: Date
    ) {
        self.id = id
        self.sender = sender
        self.sealedPayload = sealedPayload
        self.audience = audience
        self.isStoredByClients = isStoredByClients
        self.isReadOnce = isReadOnce
        self.priority = priority
        self.collapseID = collapseID
        self.createdAt = createdAt
        self.expiresAt = expiresAt
    }
}

/// The outcome of a post.
package enum PostOutcome: Sendable, Hashable {
    /// Durable, and so is the work of pushing it, if there is any to be done now.
    case stored(pushes: Int, hasWork: Bool = true)
    /// The id is in use: choose another and encrypt anew.
    case idTaken
    case unknownUser(Username)
    /// The same request has been stored before, and is not stored again.
    case repeated(NotificationID, createdAt: Date, expiresAt: Date)
    /// Another request has come with the same key.
    case keyReused
    /// The sender has as much stored as it may.
    case tooMuch(StorageExcess)
}

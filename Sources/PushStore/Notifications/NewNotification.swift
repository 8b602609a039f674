package import Foundation
package import PushCore

/// A notification to be stored, with the other rows of the same transaction; its payload and its
/// alert are encrypted already.
///
/// It is a class, because the stores pass it between lists: copying a struct with so many members
/// would retain each of them.
package final class NewNotification: Sendable {
    package let id: NotificationID
    package let sender: Int64
    package let sealedPayload: Data
    /// A `PushAlert` as JSON, encrypted; `nil`: the pushes show the fixed alert text of the
    /// provider's configuration.
    package let sealedAlert: Data?
    package let audience: HashedAudience
    package let isStoredByClients: Bool
    package let isReadOnce: Bool
    package let isEndToEnd: Bool
    package let priority: Push.Priority
    /// An id that is the same for all pushes that replace one another. It is made from the
    /// collapse key that the publisher gave, and reveals nothing about that key.
    package let collapseID: String?
    package let createdAt: Date
    package let expiresAt: Date
    /// When the notification is sent; `nil`: at once.
    package let sendAt: Date?
    /// The request that stores it once, however often it is sent; `nil`: each request stores
    /// another notification.
    package let request: IdempotentRequest?
    package let record: AuditRecord?
    /// The seed of its pushes' ids; also identifies the notification if its transaction runs
    /// twice.
    package let seed = Int64.random(in: .min ... .max)

    package init(
        id: NotificationID,
        sender: Int64,
        sealedPayload: Data,
        sealedAlert: Data? = nil,
        audience: HashedAudience,
        isStoredByClients: Bool,
        isReadOnce: Bool,
        isEndToEnd: Bool = false,
        priority: Push.Priority,
        collapseID: String?,
        createdAt: Date,
        expiresAt: Date,
        sendAt: Date? = nil,
        once request: IdempotentRequest? = nil,
        by record: AuditRecord? = nil
    ) {
        (self.id, self.sender, self.audience) = (id, sender, audience)
        (self.sealedPayload, self.sealedAlert) = (sealedPayload, sealedAlert)
        (self.isStoredByClients, self.isReadOnce, self.isEndToEnd) = (isStoredByClients, isReadOnce, isEndToEnd)
        (self.priority, self.collapseID) = (priority, collapseID)
        (self.createdAt, self.expiresAt, self.sendAt) = (createdAt, expiresAt, sendAt)
        (self.request, self.record) = (request, record)
    }

    /// The encrypted values to store. Re-encrypts values from before a keyring exchange, which the
    /// pass of `rewrap` might otherwise miss.
    package func renewed(by vault: Vault) throws -> (payload: Data, alert: Data?) {
        let payload = try vault.renewed(self.sealedPayload, in: .payload(self.id, sender: self.sender))
        let alert = try self.sealedAlert.map { sealed in
            try vault.renewed(sealed, in: .alert(self.id, sender: self.sender)) ?? sealed
        }
        return (payload ?? self.sealedPayload, alert)
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

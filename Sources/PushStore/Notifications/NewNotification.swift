package import Foundation
package import PushCore

/// A notification that a store inserts, with its idempotency key and its record for the audit. Its
/// payload and its alert are already encrypted.
///
/// It is a class, because the stores pass it from one list to another. Each copy of a struct would
/// retain all of its many members.
package final class NewNotification: Sendable {
    package let id: NotificationID
    package let sender: Int64
    package let sealedPayload: Data
    package let audience: HashedAudience
    package let createdAt: Date
    package let expiresAt: Date
    package let options: NotificationOptions
    package let record: AuditRecord?
    /// A random number, the basis for the ids of the notification's pushes. It also shows whether
    /// an earlier run of the transaction has stored this notification.
    package let seed = Int64.random(in: .min ... .max)

    package init(
        id: NotificationID,
        sender: Int64,
        sealedPayload: Data,
        audience: HashedAudience,
        createdAt: Date,
        expiresAt: Date,
        options: NotificationOptions = NotificationOptions(),
        by record: AuditRecord? = nil
    ) {
        (self.id, self.sender, self.sealedPayload, self.audience) = (id, sender, sealedPayload, audience)
        (self.createdAt, self.expiresAt, self.options, self.record) = (createdAt, expiresAt, options, record)
    }

    /// The encrypted values that the store must insert. If the keyring was replaced since they
    /// were encrypted, encrypts them again, because a running `KeyStore.rewrap` might miss them.
    package func renewed(by vault: Vault) throws -> (payload: Data, alert: Data?) {
        let payload = try vault.renewed(self.sealedPayload, in: .payload(self.id, sender: self.sender))
        let alert = try self.options.sealedAlert.map { sealed in
            try vault.renewed(sealed, in: .alert(self.id, sender: self.sender)) ?? sealed
        }
        return (payload ?? self.sealedPayload, alert)
    }
}

/// The publisher's choices for a notification, or the defaults.
package struct NotificationOptions: Sendable {
    /// A `PushAlert` as JSON, encrypted; `nil`: the pushes show the fixed text that is configured
    /// for the provider.
    package var sealedAlert: Data?
    package var isStoredByClients = true
    package var isReadOnce = false
    package var isEndToEnd = false
    package var priority = Push.Priority.high
    /// The id that pushes share if the newest of them replaces the others. It is computed from the
    /// publisher's collapse key, and reveals nothing about that key.
    package var collapseID: String?
    /// The time at which the notification is sent; `nil`: it is sent at once.
    package var sendAt: Date?
    /// The idempotency key of the request; `nil`: if the request is sent again, it stores another
    /// notification.
    package var request: IdempotentRequest?

    /// The defaults with the changes that the closure makes.
    package init(_ change: (inout Self) -> Void = { _ in }) { change(&self) }
}

/// The outcome of a post.
package enum PostOutcome: Sendable, Hashable {
    /// The notification and its pushes, if it has any yet, are durable. The reach of a scheduled
    /// notification is still unknown.
    case stored(Reach, hasWork: Bool = true)
    /// The id is in use. The caller must choose another id, and encrypt the payload again.
    case idTaken
    case unknownUser(Username)
    /// The post names this user, who gets only end-to-end encrypted payloads.
    case encryptionRequired(Username)
    /// An earlier request with the same content and key has stored this notification, so nothing
    /// is stored again. `reach` is `nil` if its numbers were not final at that time.
    case repeated(NotificationID, createdAt: Date, expiresAt: Date, reach: Reach?)
    /// An earlier request with another content has used the same idempotency key.
    case keyReused
    /// The sender would exceed this storage limit.
    case tooMuch(StorageExcess)
}

/// The number of users and devices that a new notification reaches in the transaction of its post.
package struct Reach: Sendable, Hashable {
    /// The number of users who have become recipients.
    package let recipients: Int
    /// The number of pushes that were enqueued.
    package let pushes: Int
    /// Whether the two numbers are final; `false` if a fan-out will add more devices.
    package let isComplete: Bool

    package init(recipients: Int, pushes: Int, isComplete: Bool = true) {
        (self.recipients, self.pushes, self.isComplete) = (recipients, pushes, isComplete)
    }

    /// The reach as long as no fan-out, and no release of a scheduled notification, has found a
    /// device.
    package static let none = Reach(recipients: 0, pushes: 0, isComplete: false)
}

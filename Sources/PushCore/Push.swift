internal import Cryptography
package import Foundation

/// One push to one device, with all data that a `PushSender` gets about its notification.
package struct Push: Sendable, Hashable {
    package enum Priority: String, Sendable {
        case normal
        case high
    }

    package let notification: NotificationID
    /// The device's address at the provider, as it was registered.
    package let handle: String
    /// The id that all attempts to send the push share, so that a receiver recognises a push that
    /// is sent again.
    package let attemptID: UUID
    /// No provider may deliver the push after this time.
    package let expiresAt: Date
    package let priority: Priority
    /// A device shows only the newest push with this id: 1 to 32 characters of base64url that
    /// reveal nothing.
    ///
    /// All attempts to send the push have the same id, so that the device shows the push only
    /// once, even if it is sent several times.
    package let collapseID: String
    /// Whether other pushes share the collapse id, because the sender of their notifications has
    /// given them the same collapse key.
    package let replacesOlder: Bool
    /// If this code is set, the push carries it in place of the notification's id. The push then
    /// goes to a handle that can be guessed, which the user must confirm with the code.
    package var confirmation: ConfirmationCode?
    /// The alert that replaces the fixed alert text of the provider's configuration; `nil` if the
    /// push has the fixed text.
    package var alert: PushAlert?
    /// The number of the user's unread notifications in the app; `nil` if the pushes of the
    /// device's sender do not carry this number.
    package var unread: Int?
    /// Shows the device which account the push is for; `nil` unless several accounts share the
    /// device.
    package let accountHint: AccountHint?

    /// `sharedBy` is the id of the registration if other accounts share its handle, and otherwise
    /// `nil`.
    package init(
        notification: NotificationID,
        handle: String,
        attemptID: UUID,
        expiresAt: Date,
        priority: Priority = .normal,
        sharedCollapseID: String? = nil,
        sharedBy registration: RegistrationID? = nil
    ) {
        self.notification = notification
        self.handle = handle
        self.attemptID = attemptID
        self.expiresAt = expiresAt
        self.priority = priority
        // The pushes of several accounts to one handle must not replace each other.
        let collapseID = sharedCollapseID.map { shared in
            registration.map { AccountHint.collapseID(shared, of: $0) } ?? shared
        }
        self.collapseID = collapseID ?? attemptID.digits
        self.replacesOlder = sharedCollapseID != nil
        self.accountHint = registration.map { AccountHint(notification, of: $0) }
    }

    /// The attempt's id: a UUID version 8 (RFC 9562) that depends only on the notification's
    /// random seed and the device, so that it need not be stored.
    package static func attemptID(seed: Int64, device: Int64) -> UUID {
        var hash = SHA256()
        withUnsafeBytes(of: (seed.bigEndian, device.bigEndian)) { hash.update(bufferPointer: $0) }
        var bytes = Array(hash.finalize().prefix(16))
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }
}

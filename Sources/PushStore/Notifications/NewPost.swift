package import Foundation
package import PushCore

/// A notification to be stored, with the other rows of the same transaction. It is a class,
/// because the stores pass it between lists: copying a struct with so many members would retain
/// each of them.
package final class NewPost: Sendable {
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

extension NewPost {
    /// The encrypted values to store. Re-encrypts values from before a keyring exchange, which the
    /// pass of `rewrap` might otherwise miss.
    package func renewed(by vault: Vault) throws -> (payload: Data, alert: Data?) {
        let (post, id) = (self.notification, self.notification.id)
        let payload = try vault.renewed(post.sealedPayload, in: .payload(id, sender: post.sender)) ?? post.sealedPayload
        let alert = try post.sealedAlert.map { sealed in
            try vault.renewed(sealed, in: .alert(id, sender: post.sender)) ?? sealed
        }
        return (payload, alert)
    }
}

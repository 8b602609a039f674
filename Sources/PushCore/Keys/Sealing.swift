package import Foundation

/// The keys that encrypt and hash the store's values.
package struct Sealing: Sendable {
    package let vault: Vault
    package let secret: IndexSecret
    package let index: BlindIndex
    package let rows: RowMAC
    package let codes: ConfirmationCodes

    package init(_ vault: Vault, _ secret: IndexSecret) {
        self.vault = vault
        self.secret = secret
        self.index = BlindIndex(secret)
        self.rows = RowMAC(key: secret.derive("row"))
        self.codes = ConfirmationCodes(secret)
    }

    package func seal(_ text: String, in place: SealedPlace) throws -> Data {
        try self.vault.seal(Data(text.utf8), in: place)
    }

    /// Encrypts several texts as one value.
    package func seal(_ texts: [String], in place: SealedPlace) throws -> Data {
        try self.vault.seal(try JSONEncoder().encode(texts), in: place)
    }

    /// Encrypts several texts of a notification as one value, which nobody reads after
    /// `expiresAt`.
    package func seal(_ texts: [String], in place: SealedPlace, until expiresAt: Date) throws -> Data {
        let until = SealedUntil(expiresAt: expiresAt, isReadOnce: false, now: expiresAt)
        return try self.vault.seal(try JSONEncoder().encode(texts), in: place, until: until)
    }

    package func text(_ sealed: Data, in place: SealedPlace) throws -> String {
        String(decoding: try self.vault.open(sealed, in: place), as: UTF8.self)
    }

    package func texts(_ sealed: Data, in place: SealedPlace) throws -> [String] {
        try JSONDecoder().decode([String].self, from: try self.vault.open(sealed, in: place))
    }

    package func seal(_ tags: Set<Tag>, in place: SealedPlace) throws -> Data {
        try self.seal(tags.map(\.description).sorted(), in: place)
    }

    /// Decrypts tags, and sorts them.
    package func tags(_ sealed: Data, in place: SealedPlace) throws -> [Tag] {
        try self.texts(sealed, in: place).compactMap { Tag($0) }
    }

    /// Decrypts the tags that were given to a user; empty if the user has no tags.
    package func tags(_ sealed: Data?, ofUser user: Int64) throws -> [Tag] {
        try sealed.map { try self.tags($0, in: .userTags(user)) } ?? []
    }

    /// Decrypts the alert that the pushes of a notification show.
    package func alert(_ sealed: Data, of notification: Int64, sender: Int64) throws(VaultError) -> PushAlert {
        guard let id = NotificationID(rawValue: notification) else { throw .unreadable }
        let json = try self.vault.open(sealed, in: .alert(id, sender: sender))
        do {
            return try JSONDecoder().decode(PushAlert.self, from: json)
        } catch {
            // The decrypted value is not the JSON of an alert.
            throw .unreadable
        }
    }

    /// Decrypts a user's name. Throws `VaultError` if the value was not encrypted as a name.
    package func username(_ sealed: Data, ofUser user: Int64) throws -> Username {
        guard let name = Username(try self.text(sealed, in: .username(user))) else { throw VaultError.unreadable }
        return name
    }
}

package import Foundation
package import PushCore

/// A data key that may have encrypted values in the store.
package struct DataKeyEntry: Sendable, Hashable {
    package let number: UInt32
    package let usedSince: Date
    /// The number of values that the key has encrypted. This number must not exceed
    /// `Keyring.maximumSeals`, because the nonces are random.
    package let seals: Int
    /// A value that identifies the key without revealing it.
    package let checkValue: Data

    package init(number: UInt32, usedSince: Date, seals: Int, checkValue: Data) {
        (self.number, self.usedSince, self.seals, self.checkValue) = (number, usedSince, seals, checkValue)
    }

    /// Selects the rows of all keys in use, the oldest first.
    package static let all = "select \(Column.list) from data_key order by used_at, number"

    package enum Column: Int32, SelectedColumn {
        case number, usedAt, seals, checkValue
    }

    /// Reads a key's row; `nil` if the number is out of range, so that no key can have it.
    package init?<Row: StoredRow & ~Copyable>(_ row: borrowing Row) throws {
        guard let number = UInt32(exactly: try row.integer(Column.number)) else { return nil }
        self.number = number
        self.usedSince = try row.date(Column.usedAt)
        self.seals = Int(clamping: try row.integer(Column.seals))
        self.checkValue = try row.data(Column.checkValue)
    }
}

extension [DataKeyEntry] {
    /// Throws `StoreError.wrongKeyring` if the keyring lacks a key in use, or has a different key
    /// under the same number.
    package func check(_ keyring: Keyring) throws(StoreError) {
        for key in self {
            switch keyring.checkValue(of: key.number) {
            case key.checkValue: continue
            case .some:
                throw .wrongKeyring(reason: "its key \(key.number) is not the key that the database was encrypted with")
            case nil: throw .wrongKeyring(reason: "it lacks key \(key.number), which the database was encrypted with")
            }
        }
    }
}

/// The first key of a keyring, while it does not encrypt yet because a server that shares the
/// store lacks it.
package struct KeyWait: Sendable, Hashable {
    package let number: UInt32
    /// The number of the key that encrypts until all servers have the keyring's first key.
    package let sealing: UInt32
    /// The names of the servers that lack the keyring's first key.
    package let lacking: [String]

    package init(number: UInt32, sealing: UInt32, lacking: [String]) {
        (self.number, self.sealing, self.lacking) = (number, sealing, lacking)
    }
}

/// A server that shares the store, and the data keys that it has.
package struct ServerKeys: Sendable, Hashable {
    package let name: String
    /// The number of the server's encrypting key.
    package let sealing: UInt32
    /// The check values of the server's keys; `nil` for a server of an older version, which does
    /// not publish them.
    package let checkValues: [UInt32: Data]?

    package init(name: String, sealing: UInt32, checkValues: [UInt32: Data]?) {
        (self.name, self.sealing, self.checkValues) = (name, sealing, checkValues)
    }

    /// Whether the server may lack the key with this number in `keyring`. If the server does not
    /// publish its keys, only its encrypting key is certain.
    package func lacks(_ number: UInt32, of keyring: Keyring) -> Bool {
        guard let checkValues else { return self.sealing != number }
        return checkValues[number] == nil || checkValues[number] != keyring.checkValue(of: number)
    }
}

/// The outcome of one pass over all encrypted values.
package struct RewrapResult: Sendable, Hashable {
    package var renewed = 0
    /// The number of values that cannot be decrypted. As long as there are such values, all older
    /// keys stay in use.
    package var unreadable = 0
    /// The keys that no value is encrypted with any more.
    package var unused: [UInt32] = []

    /// Re-encrypts the values of all columns page by page. Each call of `rewrap` re-encrypts the
    /// values in one page of a column's rows, beginning after the row `after`.
    package init(
        _ columns: [SealedColumn],
        page: Int,
        passed: (Int) async throws -> Void,
        rewrap: (SealedColumn, _ after: Int64) async throws -> SealedColumn.Page
    ) async throws {
        var count = 0
        for column in columns {
            var row: Int64? = .min
            while let last = row {
                try Task.checkCancellation()
                let done = try await rewrap(column, last)
                self.renewed += done.renewed
                self.unreadable += done.unreadable
                row = done.last
                count += page
                try await passed(count)
            }
        }
    }
}

/// Gives access to the data keys, and replaces the keyring.
package protocol KeyStore: Sendable {
    /// The keys that encrypt and hash the stored values.
    var sealing: Sealing { get }

    /// Replaces the keyring. The new keyring's first key encrypts as soon as all servers that
    /// share the store have it. Values that are encrypted with other keys stay as they are until
    /// `rewrap`. The audit names the actor.
    ///
    /// Returns `false` if the keyring is the same as before and its first key already encrypts.
    /// Throws `StoreError.wrongKeyring`, and keeps the old keyring, if the new one lacks a key in
    /// use.
    func replaceKeyring(_ keyring: Keyring, by actor: AuditRecord.Actor, now: Date) async throws -> Bool

    /// Adds the numbers of values that each key has encrypted to the stored numbers.
    func addSeals(_ seals: [UInt32: Int]) async throws

    /// Re-encrypts, page by page, all values that are not encrypted with the keyring's first key.
    /// Returns `nil` if no other key is in use.
    ///
    /// A pass may be interrupted at any time, and started again. While it runs, new values are
    /// encrypted with the first key, even in rows that it has already passed. `page` is the number
    /// of values that one transaction checks; if it is `nil`, the store decides. After each page,
    /// `passed` gets the approximate number of values that the pass has covered. If `passed`
    /// throws, the pass ends.
    func rewrap(page: Int?, passed: @Sendable (Int) async throws -> Void) async throws -> RewrapResult?
}

extension KeyStore {
    package var vault: Vault { self.sealing.vault }

    /// The secret that the keys of keyed hashes are derived from.
    package var indexSecret: IndexSecret { self.sealing.secret }

    /// Stores how many values each key has encrypted since the last call. If the write fails, the
    /// next call stores these numbers, too.
    package func writeSealCounts() async throws {
        let seals = self.vault.takeSeals()
        if seals.isEmpty { return }
        do {
            try await self.addSeals(seals)
        } catch {
            self.vault.giveBack(seals)
            throw error
        }
    }
}

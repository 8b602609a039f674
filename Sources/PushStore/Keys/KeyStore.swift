package import Foundation
package import PushCore

/// A data key under which values in the store may be encrypted.
package struct DataKeyEntry: Sendable, Hashable {
    package let number: UInt32
    package let usedSince: Date
    /// How many values the key has encrypted; random nonces limit this number
    /// (`Keyring.maximumSeals`).
    package let seals: Int
    /// Identifies the key without revealing it.
    package let checkValue: Data

    package init(number: UInt32, usedSince: Date, seals: Int, checkValue: Data) {
        (self.number, self.usedSince, self.seals, self.checkValue) = (number, usedSince, seals, checkValue)
    }

    /// The rows of all keys in use, oldest first.
    package static let all = "select \(Column.list) from data_key order by used_at, number"

    package enum Column: Int32, SelectedColumn {
        case number, usedAt, seals, checkValue
    }
}

extension DataKeyEntry {
    /// `nil` if the number is out of range, so that no key can have it.
    package init?<Row: StoredRow & ~Copyable>(_ row: borrowing Row) throws {
        guard let number = UInt32(exactly: try row.integer(Column.number)) else { return nil }
        self.init(
            number: number,
            usedSince: Date(milliseconds: try row.integer(Column.usedAt)),
            seals: Int(clamping: try row.integer(Column.seals)),
            checkValue: try row.data(Column.checkValue)
        )
    }
}

extension [DataKeyEntry] {
    /// Throws `StoreError.wrongKeyring` if a key in use is missing from the keyring, or is a
    /// different key there.
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

/// A keyring's first key that does not encrypt yet, because a server that shares the store lacks
/// it.
package struct KeyWait: Sendable, Hashable {
    package let number: UInt32
    /// The number of the key that encrypts until all servers have the first key.
    package let sealing: UInt32
    /// The names of the servers that lack the first key.
    package let lacking: [String]

    package init(number: UInt32, sealing: UInt32, lacking: [String]) {
        (self.number, self.sealing, self.lacking) = (number, sealing, lacking)
    }
}

/// A server that shares the store, and its data keys.
package struct ServerKeys: Sendable, Hashable {
    package let name: String
    /// The number of the key that the server uses to encrypt.
    package let sealing: UInt32
    /// The check values of the server's keys; `nil` if it runs an older version, which does not
    /// publish them.
    package let checkValues: [UInt32: Data]?

    package init(name: String, sealing: UInt32, checkValues: [UInt32: Data]?) {
        (self.name, self.sealing, self.checkValues) = (name, sealing, checkValues)
    }

    /// Whether the server may lack the keyring's key of that number. A server of an older version
    /// certainly has only the key that it uses to encrypt.
    package func lacks(_ number: UInt32, of keyring: Keyring) -> Bool {
        guard let checkValues else { return self.sealing != number }
        return checkValues[number] == nil || checkValues[number] != keyring.checkValue(of: number)
    }
}

/// The outcome of a pass over all encrypted values.
package struct RewrapResult: Sendable, Hashable {
    package var renewed = 0
    /// The number of values that cannot be decrypted; while there are any, all older keys stay in
    /// use.
    package var unreadable = 0
    /// The keys under which no value is encrypted any more.
    package var unused: [UInt32] = []

    /// Re-encrypts the values of all columns, page by page: each call of `rewrap` re-encrypts a
    /// page of a column's rows, after a given row.
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

/// Reads the number of encrypted values.
package protocol KeyReader: Sendable {
    /// About how many values a pass of `KeyStore.rewrap` examines. Reads all rows' numbers.
    func countSealed() async throws(StoreError) -> Int
}

/// Gives access to the keys in use, and replaces the keyring.
package protocol KeyStore: Sendable {
    /// Encrypts and decrypts stored values.
    var vault: Vault { get }

    /// The secret from which the keys for keyed hashes are derived.
    var indexSecret: IndexSecret { get }

    /// Replaces the keyring. The first key of the new keyring encrypts as soon as all servers that
    /// share the store have it. Values under other keys wait for `rewrap`. The audit names the
    /// actor.
    ///
    /// Returns `false` if the keyring is the same as before, and its first key encrypts already.
    /// Throws `StoreError.wrongKeyring`, and keeps the old keyring, if the new one lacks a key in
    /// use.
    func replaceKeyring(_ keyring: Keyring, by actor: AuditRecord.Actor, now: Date) async throws -> Bool

    /// The reason why the keyring's first key does not encrypt yet; `nil` if it does.
    var keyWait: KeyWait? { get }

    /// Stores how many values were encrypted; if that fails, the next call includes them.
    func writeSealCounts() async throws

    /// Re-encrypts, page by page, all values that are not under the first key; `nil` if no other
    /// key is in use.
    ///
    /// A pass may be interrupted at any time and started again. While it runs, new values are
    /// encrypted under the first key, also in rows that the pass has left behind. `page` is how
    /// many values one transaction checks; with `nil` the store decides. After each page, `passed`
    /// receives about how many values the pass has covered; an error that it throws ends the pass.
    func rewrap(page: Int?, passed: @Sendable (Int) async throws -> Void) async throws -> RewrapResult?

    /// Destroys the keys of past days. Before that, it re-encrypts the values under these keys
    /// that may still be read. Returns `nil` if the store has no day keys.
    func turnDayKeys(now: Date) async throws -> DayKeyTurn?
}

extension KeyStore {
    package func turnDayKeys(now: Date) async throws -> DayKeyTurn? { nil }

    package var keyWait: KeyWait? { nil }
}

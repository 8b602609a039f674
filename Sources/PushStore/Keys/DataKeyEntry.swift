package import Foundation
internal import GRDB
package import PushCore
internal import Synchronization

/// A data key under which something in the database may be sealed.
package struct DataKeyEntry: Sendable, Hashable {
    package let number: UInt32
    package let usedSince: Date
    /// How many values it has sealed, which random nonces bound (`Keyring.maximumSeals`).
    package let seals: Int
    /// Recognises the key.
    let checkValue: Data
}

extension DataKeyEntry {
    /// The keys in use of the database at that path, read beside a server that runs; none if there is no database.
    package static func all(inDatabase path: String) throws(StoreError) -> [DataKeyEntry] {
        guard FileManager.default.fileExists(atPath: path) else { return [] }
        do {
            return try DatabaseQueue.readOnly(path: path).read { try self.fetchAll($0) }
        } catch {
            throw StoreError(opening: path, error)
        }
    }
}

extension [DataKeyEntry] {
    /// Throws `StoreError.wrongKeyring` unless each key in use is in the keyring, and is the same.
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

extension DataKeyEntry {
    /// All that are in use, oldest first.
    static func fetchAll(_ db: Database) throws -> [DataKeyEntry] {
        let rows = try Row.fetchAll(
            db,
            sql: "select number, used_at, seals, check_value from data_key order by used_at, number"
        )
        return try rows.compactMap { row in
            guard let number = UInt32(exactly: try row[0] as Int64) else { return nil }
            return try DataKeyEntry(
                number: number,
                usedSince: Date(milliseconds: row[1]),
                seals: row[2],
                checkValue: row[3]
            )
        }
    }

    /// Says that the first key may be used from now on. To be on the disk before anything is sealed with it.
    static func note(_ db: Database, _ keyring: Keyring, now: Date) throws {
        guard let checkValue = keyring.checkValue(of: keyring.sealing) else { return }
        try db.execute(
            sql: """
                insert into data_key (number, check_value, used_at) values (?, ?, ?) on conflict (number) do nothing
                """,
            arguments: [Int64(keyring.sealing), checkValue, now.milliseconds]
        )
    }
}

extension Store {
    /// Uses another keyring from now on, whose first key seals. What is sealed with others waits for `rewrap`.
    ///
    /// Returns `false` if it is the same. Throws `StoreError.wrongKeyring`, and keeps the old, if a key in use is not in it.
    package func exchange(_ keyring: Keyring, now: Date) async throws -> Bool {
        guard keyring != self.sealing.vault.keyring else { return false }
        // First, so that a pass that ends meanwhile forgets no key that is used again.
        self.exchanges.wrappingAdd(1, ordering: .relaxed)
        let record = AuditRecord(.changeKeys, of: "key \(keyring.sealing)", at: now)
        try await self.writer.write { [audit] db in
            try DataKeyEntry.fetchAll(db).check(keyring)
            try DataKeyEntry.note(db, keyring, now: now)
            try audit.append(record, to: db)
        }
        self.sealing.vault.exchange(keyring)
        return true
    }

    /// Writes down how many values were sealed; if that fails, they are counted the next time.
    package func writeSealCounts() async throws {
        let seals = self.sealing.vault.takeSeals()
        guard !seals.isEmpty else { return }
        do {
            try await self.writer.write(.housekeeping) { db in
                for (number, count) in seals {
                    try db.execute(
                        sql: "update data_key set seals = seals + ? where number = ?",
                        arguments: [count, Int64(number)]
                    )
                }
            }
        } catch {
            self.sealing.vault.giveBack(seals)
            throw error
        }
    }
}

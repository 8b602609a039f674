internal import Foundation
internal import PushCore
internal import PushStore
internal import SQLite
internal import Synchronization

extension DataKeyEntry {
    /// All keys in use, oldest first.
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

    /// Stores the first key as one in use. Must be on the disk before anything is encrypted with
    /// it.
    static func record(_ db: Database, _ keyring: Keyring, now: Date) throws {
        guard let checkValue = keyring.checkValue(of: keyring.sealing) else { return }
        try db.execute(
            sql: """
                insert into data_key (number, check_value, used_at) values (?, ?, ?) on conflict (number) do nothing
                """,
            arguments: [Int64(keyring.sealing), checkValue, now.milliseconds]
        )
    }
}

internal import Foundation
internal import PushCore
internal import PushStore
internal import SQLite
internal import Synchronization

extension DataKeyEntry {
    /// Selects all keys in use, the oldest first.
    static func fetchAll(_ db: Database) throws -> [DataKeyEntry] {
        try db.all(prepared: Self.all) { try DataKeyEntry($0) }.compactMap { $0 }
    }

    /// Marks the keyring's first key as in use. The row must be on the disk before any value is
    /// encrypted with this key.
    static func record(_ db: Database, _ keyring: Keyring, now: Date) throws {
        guard let checkValue = keyring.checkValue(of: keyring.sealing) else { return }
        try db.run(
            """
            insert into data_key (number, check_value, used_at)
            values (\(Int64(keyring.sealing)), \(checkValue), \(now.milliseconds)) on conflict (number) do nothing
            """
        )
    }
}

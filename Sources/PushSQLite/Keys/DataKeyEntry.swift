internal import Foundation
internal import PushCore
internal import PushStore
internal import SQLite
internal import Synchronization

extension DataKeyEntry {
    /// All keys in use, oldest first.
    static func fetchAll(_ db: Database) throws -> [DataKeyEntry] {
        try db.all(prepared: Self.all) { try DataKeyEntry($0) }.compactMap { $0 }
    }

    /// Stores the first key as one in use. The row must be on the disk before anything is
    /// encrypted with the key.
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

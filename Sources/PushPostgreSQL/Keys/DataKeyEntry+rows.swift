internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

extension DataKeyEntry {
    /// Inserts a key: its number, its check value, and the time of its first use.
    static let adding = """
        insert into data_key (number, check_value, used_at) values ($1, $2, $3) on conflict (number) do nothing
        """

    static func entries(_ rows: Rows) throws -> [DataKeyEntry] { try rows.compactMap { try DataKeyEntry($0) } }

    /// Marks a key of the keyring as in use. This must be committed before any value is encrypted
    /// with the key.
    ///
    /// Throws `StoreError.wrongKeyring` if the keyring lacks a key that is in use. The caller must
    /// then roll the transaction back.
    static func record(_ number: UInt32, of keyring: Keyring, now: Date, _ connection: BlockingConnection) throws {
        guard let checkValue = keyring.checkValue(of: number) else { return }
        _ = try connection.query(Self.adding, Int64(number), checkValue, now.milliseconds)
        try Self.entries(connection.query(Self.all)).check(keyring)
    }
}

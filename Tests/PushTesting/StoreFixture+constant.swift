package import Foundation
internal import PushCore
internal import PushSQLite
package import PushStore
internal import SQLite

extension StoreFixture {
    /// Makes a new SQLite store with a constant secret. Its change numbers are also constant, and
    /// do not begin with the current time. The cursors and entity tags that the server makes from
    /// these numbers are therefore the same each time.
    package static func constant(
        secret: Data,
        keyring text: String,
        options: StoreOptions = StoreOptions()
    ) throws -> StoreFixture {
        let folder = try TemporaryFolder()
        let database = SQLiteDatabase(path: folder.file("test.db"))
        try database.migrate()
        let sealed = try Vault(try Keyring(text: text)).seal(secret, in: .indexSecret)
        let connection = try Connection(path: database.path)
        try connection.write {
            try $0.execute(sql: "insert into index_secret (id, secret) values (1, ?)", arguments: [sealed])
            // A change number that is made from a time has only 32 bits for the seconds. This
            // number is larger than any such number.
            try $0.execute(sql: "insert into change_number (id, reserved) values (1, ?)", arguments: [Int64(1) << 62])
        }
        try connection.close()
        return try StoreFixture(.sqlite, in: folder, keyring: text, options: options)
    }
}

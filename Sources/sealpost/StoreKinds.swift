import PushApplication
import PushPostgreSQL
import PushSQLite
import PushStore

extension Configuration {
    /// Reads the file and the environment, as `load(file:environment:place:)` does.
    static func load(file: String?, environment: [String: String]) throws -> Configuration {
        try self.load(file: file, environment: environment, place: self.place(of:))
    }

    /// The location of a store; only this function knows the kinds of stores.
    @Sendable static func place(of database: String) -> any StorePlace {
        PostgreSQLPlace(database) ?? SQLiteDatabase(path: database)
    }
}

extension PostgreSQLPlace {
    /// Reads the password's file like every other secret.
    init?(_ text: String) {
        self.init(text) { try SecretFile.text(of: $0, key: "passwordFile") }
    }
}

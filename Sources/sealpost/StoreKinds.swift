import Foundation
import PushApplication
import PushPostgreSQL
import PushSQLite
import PushStore

extension Configuration {
    /// Reads the file and the environment, as `load(file:environment:place:)` does.
    static func load(file: String?, environment: [String: String]) throws -> Configuration {
        try self.load(file: file, environment: environment, place: self.place(of:))
    }

    /// The location of the store that the text names. Only this function knows which kinds of
    /// stores exist.
    @Sendable static func place(of database: String) -> any StorePlace {
        PostgreSQLPlace(database) ?? SQLiteDatabase(path: database)
    }
}

extension ConfigurationFile {
    /// Reads the file, and applies the environment.
    func load() throws -> Configuration {
        try self.refuseForeign()
        return try Configuration.load(file: self.path, environment: ProcessInfo.processInfo.environment)
    }
}

extension PostgreSQLPlace {
    /// Reads the address of a PostgreSQL database. `SecretFile` reads the file with its password,
    /// like all files with secrets.
    init?(_ text: String) {
        self.init(text) { try SecretFile.text(of: $0, key: "passwordFile") }
    }
}

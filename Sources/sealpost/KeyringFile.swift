import Foundation
import PushCore

/// The file with the data keys.
enum KeyringFile {
    /// Reads it; makes it, with one new key and for its owner only, if neither it nor the database is there.
    ///
    /// Throws `ConfigurationError` if it cannot be read, if others may read it, if it is no keyring, or if it is missing
    /// though there is a database, which a new key would not open.
    static func load(_ path: String, database: String) throws -> Keyring {
        let isMissing = !FileManager.default.fileExists(atPath: path)
        guard !isMissing || !FileManager.default.fileExists(atPath: database) else {
            throw ConfigurationError("the keyring \(path) is missing, without which \(database) cannot be read")
        }
        let text = try PrivateFile.load(path, what: "the keyring", ifMissing: Keyring.generateText)
        do throws(KeyringError) {
            return try Keyring(text: text)
        } catch {
            throw ConfigurationError("the keyring \(path) cannot be used: \(error)")
        }
    }
}

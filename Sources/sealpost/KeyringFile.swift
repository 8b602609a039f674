import Foundation
import PushCore

/// The file with the data keys.
enum KeyringFile {
    private static let what = "the keyring"

    /// Reads it; makes it, with one new key and for its owner only, if neither it nor the database is there.
    ///
    /// Throws `ConfigurationError` if it cannot be read, if others may read it, if it is no keyring, or if it is missing
    /// though there is a database, which a new key would not open.
    static func load(_ path: String, database: String) throws -> Keyring {
        let isMissing = !FileManager.default.fileExists(atPath: path)
        guard !isMissing || !FileManager.default.fileExists(atPath: database) else {
            throw ConfigurationError("the keyring \(path) is missing; restore it from a backup to decrypt \(database)")
        }
        let text = try PrivateFile.load(path, what: self.what, ifMissing: Keyring.generateText)
        return try self.read(path) { () throws(KeyringError) in try Keyring(text: text) }
    }

    /// Reads it, and never makes it.
    static func load(_ path: String) throws -> Keyring {
        let text = try PrivateFile.load(path, what: self.what)
        return try self.read(path) { () throws(KeyringError) in try Keyring(text: text) }
    }

    /// Puts a new random key in front of the others, so that it will seal; returns its number.
    static func rotate(_ path: String) throws -> UInt32 {
        let text = try PrivateFile.load(path, what: self.what)
        let new = try self.read(path) { () throws(KeyringError) in try Keyring.addingKey(to: text) }
        try PrivateFile.replace(path, what: self.what, content: new.text)
        return new.number
    }

    /// Takes a key out that does not seal. Whether it is in use is the caller's to know.
    static func remove(_ number: UInt32, from path: String) throws {
        let text = try PrivateFile.load(path, what: self.what)
        let rest = try self.read(path) { () throws(KeyringError) in try Keyring.removingKey(number, from: text) }
        try PrivateFile.replace(path, what: self.what, content: rest)
    }

    private static func read<Value>(_ path: String, _ body: () throws(KeyringError) -> Value) throws -> Value {
        do throws(KeyringError) {
            return try body()
        } catch {
            throw ConfigurationError("the keyring \(path) is not valid: \(error)")
        }
    }
}

import Foundation
package import PushCore
package import PushServer
package import PushStore

/// The file of the keys that encrypt stored data.
package typealias KeyringFile = KeyFile<Keyring>

/// The file of the keys that sign answers.
package typealias SigningKeyFile = KeyFile<SigningKeySet>

/// A file of numbered keys, which the server creates and only its owner may read.
///
/// Each function throws a `ConfigurationError` if the file cannot be read or written, if other
/// users may read it, or if it contains no valid keys. A refused change throws `CommandFailure`.
package struct KeyFile<Keys: FiledKeys> {
    let path: String

    package init(_ path: String) {
        self.path = path
    }

    /// Reads the file, and never creates it.
    package func load() throws -> Keys {
        try self.mustExist()
        return try self.keys(in: PrivateFile.load(self.path, what: Keys.fileName))
    }

    /// Reads the file. If the file is missing, first creates it with one new key.
    package func loadOrCreate() throws -> Keys {
        try self.keys(in: PrivateFile.load(self.path, what: Keys.fileName, ifMissing: Keys.generateText))
    }

    /// Adds a new random key as the file's first key, which is the key in use. Returns its number.
    package func rotate() throws -> UInt32 {
        try self.mustExist()
        return try PrivateFile.change(self.path, what: Keys.fileName) { text in
            let new = try self.checked { () throws(KeyTextError) in try Keys.addingKey(to: text) }
            return (new.text, new.number)
        }
    }

    /// Removes a key other than the first. The caller must check that no value depends on the key.
    package func remove(_ number: UInt32) throws {
        try self.mustExist()
        try PrivateFile.change(self.path, what: Keys.fileName) { text in
            (try self.checked { () throws(KeyTextError) in try Keys.removingKey(number, from: text) }, ())
        }
    }

    // MARK: - Private

    /// If the file is missing, throws an error with both causes: a command may have been run
    /// before there is a database, or the file was lost.
    private func mustExist() throws {
        guard PrivateFile.isMissing(self.path) else { return }
        throw ConfigurationError(
            "\(Keys.fileName) \(self.path) does not exist: sealpost serve, init and user add create it with a new database; "
                + "if it was lost, \(Keys.remedy(beside: "the database"))"
        )
    }

    private func keys(in text: String) throws -> Keys {
        try self.checked { () throws(KeyTextError) in try Keys(text: text) }
    }

    private func checked<Value>(_ body: () throws(KeyTextError) -> Value) throws -> Value {
        do throws(KeyTextError) {
            return try body()
        } catch {
            guard error.concernsText else { throw CommandFailure("\(Keys.fileName) \(self.path): \(error)") }
            throw ConfigurationError("\(Keys.fileName) \(self.path) is not valid: \(error)")
        }
    }
}

extension KeyFile {
    /// Reads the file. If neither the file nor the store exists, first creates the file with one
    /// new key.
    ///
    /// Throws `ConfigurationError` if the file is missing and a store exists, since a new key
    /// could not replace the lost ones. Throws `StoreError` if the file is missing and the
    /// function cannot find out whether a store exists.
    package func loadOrCreate(beside place: any StorePlace) throws -> Keys {
        guard try !PrivateFile.isMissing(self.path) || !place.isMade() else {
            throw ConfigurationError("\(Keys.fileName) \(self.path) is missing; \(Keys.remedy(beside: "\(place)"))")
        }
        return try self.loadOrCreate()
    }
}

extension KeyFile<SigningKeySet> {
    /// Adds a key as `rotate()` does. If the file is missing and a store exists, creates the file
    /// with one new key. Without a store, the command may run in the wrong folder.
    package func rotate(beside place: any StorePlace) throws -> UInt32 {
        guard PrivateFile.isMissing(self.path), try place.isMade() else { return try self.rotate() }
        return try self.loadOrCreate().keys[0].number
    }
}

/// A set of keys that is stored in a file.
package protocol FiledKeys: NumberedKeys {
    /// The name of the file in error messages.
    static var fileName: String { get }
    /// The remedy for an operator if the file is missing although the store exists.
    static func remedy(beside place: String) -> String
}

extension Keyring: FiledKeys {
    package static let fileName = "the keyring"

    package static func remedy(beside place: String) -> String {
        "restore it from a backup to decrypt \(place)"
    }
}

extension SigningKeySet: FiledKeys {
    package static let fileName = "the file of signing keys"

    package static func remedy(beside place: String) -> String {
        "restore it from a backup, or copy it from another server; without a copy, sealpost signing-keys rotate creates one, "
            + "and apps that pinned the lost keys refuse every answer"
    }
}

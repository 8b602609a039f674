import PushCore
import PushServer

/// The file with the keys that sign answers.
enum SigningKeyFile {
    private static let what = "the file of signing keys"

    /// Reads it; makes it, with one new key and for its owner only, if it is not there.
    ///
    /// Throws `ConfigurationError` if it cannot be made or read, if others may read it, or if it contains no keys.
    static func load(_ path: String) throws -> SigningKeySet {
        let text = try PrivateFile.load(path, what: self.what, ifMissing: SigningKeySet.generateText)
        return try self.read(path) { () throws(SigningKeyError) in try SigningKeySet(text: text) }
    }

    /// Reads it, and never makes it.
    static func loadExisting(_ path: String) throws -> SigningKeySet {
        let text = try PrivateFile.load(path, what: self.what)
        return try self.read(path) { () throws(SigningKeyError) in try SigningKeySet(text: text) }
    }

    /// Puts a new random key in front of the others, so that it will sign; returns its number.
    static func rotate(_ path: String) throws -> UInt32 {
        let text = try PrivateFile.load(path, what: self.what)
        let new = try self.read(path) { () throws(SigningKeyError) in try SigningKeySet.addingKey(to: text) }
        try PrivateFile.replace(path, what: self.what, content: new.text)
        return new.number
    }

    /// Takes a key out that is not the first.
    static func remove(_ number: UInt32, from path: String) throws {
        let text = try PrivateFile.load(path, what: self.what)
        let rest = try self.read(path) { () throws(SigningKeyError) in
            try SigningKeySet.removingKey(number, from: text)
        }
        try PrivateFile.replace(path, what: self.what, content: rest)
    }

    private static func read<Value>(_ path: String, _ body: () throws(SigningKeyError) -> Value) throws -> Value {
        do throws(SigningKeyError) {
            return try body()
        } catch {
            throw ConfigurationError("\(self.what) \(path) is not valid: \(error)")
        }
    }
}

import Foundation
import PushCore

/// The file with the data keys.
enum KeyringFile {
    /// Reads it; makes it, with one new key and for its owner only, if neither it nor the database is there.
    ///
    /// Throws `ConfigurationError` if it cannot be read, if others may read it, if it is no keyring, or if it is missing
    /// though there is a database, which a new key would not open.
    static func load(_ path: String, database: String) throws -> Keyring {
        if !FileManager.default.fileExists(atPath: path) {
            guard !FileManager.default.fileExists(atPath: database) else {
                throw ConfigurationError("the keyring \(path) is missing, without which \(database) cannot be read")
            }
            try self.create(path)
        }
        let text: String
        do {
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int ?? 0
            guard mode & 0o077 == 0 else {
                throw ConfigurationError("the keyring \(path) may be read by others; make its mode 0600")
            }
            text = try String(contentsOfFile: path, encoding: .utf8)
        } catch let error as ConfigurationError {
            throw error
        } catch {
            throw ConfigurationError("the keyring \(path) cannot be read: \(error.localizedDescription)")
        }
        do throws(KeyringError) {
            return try Keyring(text: text)
        } catch {
            throw ConfigurationError("the keyring \(path) cannot be used: \(error)")
        }
    }

    private static func create(_ path: String) throws {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
        do {
            try FileManager.default.createDirectory(
                at: folder,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw ConfigurationError("the keyring \(path) cannot be made: \(error.localizedDescription)")
        }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw ConfigurationError("the keyring \(path) cannot be made: \(String(cString: strerror(errno)))")
        }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            // On the disk before anything is sealed with it.
            try file.write(contentsOf: Data(Keyring.generateText().utf8))
            try file.synchronize()
        } catch {
            throw ConfigurationError("the keyring \(path) cannot be written: \(error.localizedDescription)")
        }
    }
}

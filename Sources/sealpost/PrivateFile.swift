import Foundation

/// A file that only its owner may read, for keys that the server makes by itself.
enum PrivateFile {
    /// Reads it; makes it first, with mode 0600, if it is not there.
    ///
    /// `what` begins each error. Throws `ConfigurationError` if it cannot be made or read, or if others may read it.
    static func load(_ path: String, what: String, ifMissing make: () -> String) throws -> String {
        if !FileManager.default.fileExists(atPath: path) { try self.create(path, what: what, content: make()) }
        do {
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int ?? 0
            guard mode & 0o077 == 0 else {
                throw ConfigurationError("\(what) \(path) may be read by others; make its mode 0600")
            }
            return try String(contentsOfFile: path, encoding: .utf8)
        } catch let error as ConfigurationError {
            throw error
        } catch {
            throw ConfigurationError("\(what) \(path) cannot be read: \(error.localizedDescription)")
        }
    }

    private static func create(_ path: String, what: String, content: String) throws {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
        do {
            try FileManager.default.createDirectory(
                at: folder,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw ConfigurationError("\(what) \(path) cannot be made: \(error.localizedDescription)")
        }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw ConfigurationError("\(what) \(path) cannot be made: \(String(cString: strerror(errno)))")
        }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            // On the disk before anything depends on it.
            try file.write(contentsOf: Data(content.utf8))
            try file.synchronize()
        } catch {
            throw ConfigurationError("\(what) \(path) cannot be written: \(error.localizedDescription)")
        }
    }
}

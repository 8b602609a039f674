import Foundation

/// A file with credentials that the operator supplies: a sender's, the password of the database,
/// or the private key of a certificate.
package enum SecretFile {
    /// Reads the file, which the configuration's `key` names.
    ///
    /// The file's group may read the file, as Debian's group `ssl-cert` reads private keys. Throws
    /// `ConfigurationError` if the file cannot be read, or if all users may read or change it.
    ///
    /// - Parameter isPublic: Whether a file with that content is no secret, so that all users may
    ///   read it.
    package static func text(
        of file: String,
        key: String,
        isPublic: (String) -> Bool = { _ in false }
    ) throws -> String {
        let descriptor = open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw ConfigurationError("\(key): \(file) cannot be read: \(String(cString: strerror(errno)))")
        }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        // The check uses the open file: a path may lead through links, whose own modes mean
        // nothing.
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & 0o002 == 0 else { throw self.openToAll(file, key) }
        let text: String
        do {
            text = String(decoding: (try handle.readToEnd() ?? Data()).withoutByteOrderMark, as: UTF8.self)
        } catch {
            throw ConfigurationError("\(key): \(file) cannot be read: \(error.localizedDescription)")
        }
        guard status.st_mode & 0o007 == 0 || isPublic(text) else { throw self.openToAll(file, key) }
        return text
    }

    private static func openToAll(_ file: String, _ key: String) -> ConfigurationError {
        ConfigurationError(
            "\(key): \(file) is readable by all users; set its mode to 0600, or 0640 for a group"
        )
    }
}

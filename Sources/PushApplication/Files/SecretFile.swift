import Foundation

/// A file with a secret that the operator supplies: a sender's credentials, the database's
/// password, or a certificate's private key.
package enum SecretFile {
    /// Reads the file, whose path is the value of the configuration's `key`.
    ///
    /// The file's group may read the file, as Debian's group `ssl-cert` reads private keys. Throws
    /// `ConfigurationError` if the file cannot be read, or if all users may read or change it.
    ///
    /// - Parameter isPublic: Whether a file with the given content is no secret, so that all users
    ///   may read it.
    package static func text(
        of file: String,
        key: String,
        isPublic: (String) -> Bool = { _ in false }
    ) throws -> String {
        // The status is that of the open file: a path may lead through links, whose own modes mean
        // nothing.
        let (text, status) = try PrivateFile.read(file, what: "\(key):")
        let mode = status.st_mode
        guard mode & 0o007 == 0 || mode & 0o002 == 0 && isPublic(text) else {
            throw ConfigurationError(
                "\(key): \(file) is readable by all users; set its mode to 0600, or 0640 for a group"
            )
        }
        return text
    }
}

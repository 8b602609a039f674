import Foundation

/// A file with credentials that the operator supplies: a sender's, the password of the database,
/// or the private key of a certificate.
package enum SecretFile {
    /// Reads the file, which the configuration's `key` names.
    ///
    /// Its group may read it, as Debian's `ssl-cert` reads private keys. Throws
    /// `ConfigurationError` if the file cannot be read, or if all users may read or change it.
    package static func text(of file: String, key: String) throws -> String {
        let descriptor = open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw ConfigurationError("\(key): \(file) cannot be read: \(String(cString: strerror(errno)))")
        }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        // The check uses the open file: a path may lead through links, whose own modes mean
        // nothing.
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & 0o007 == 0 else {
            throw ConfigurationError(
                "\(key): \(file) is readable by all users; set its mode to 0600, or 0640 for a group"
            )
        }
        do {
            return String(decoding: (try handle.readToEnd() ?? Data()).withoutByteOrderMark, as: UTF8.self)
        } catch {
            throw ConfigurationError("\(key): \(file) cannot be read: \(error.localizedDescription)")
        }
    }
}

import Foundation
import Glibc

/// The file from which a command reads its configuration.
///
/// The first of these applies: the file that `--config` names, the file that `SEALPOST_CONFIG`
/// names, the first file of `usual` that exists.
package struct ConfigurationFile: Sendable, Hashable, CustomStringConvertible {
    /// The environment variable that contains the path of the file.
    static let variable = "SEALPOST_CONFIG"
    /// The default paths: a file in the working folder, and then the Debian package's file.
    package static let usual = ["./sealpost.yaml", "/etc/sealpost/sealpost.yaml"]

    /// The file's path; `nil`: there is no file, and the command uses the environment and the
    /// built-in settings.
    package let path: String?
    /// Whether `--config` or `SEALPOST_CONFIG` named the file; otherwise `path` is a default path.
    private let isNamed: Bool
    /// Whether `--config` named the file.
    private let isTyped: Bool
    /// The environment variables that set keys.
    private let variables: Set<String>

    /// `isThere` tells whether a default file exists.
    package init(
        option: String?,
        environment: [String: String],
        isThere: (String) -> Bool = Self.isThere
    ) {
        let named = option ?? environment[Self.variable].flatMap { $0.isEmpty ? nil : $0 }
        self.path = named ?? Self.usual.first(where: isThere)
        self.isNamed = named != nil
        self.isTyped = option != nil
        self.variables = ConfigurationSource.variables(in: environment)
    }

    /// Throws `ConfigurationError` if the file is a default file that another user owns or may
    /// change, for example in a folder for temporary files.
    package func refuseForeign() throws(ConfigurationError) {
        var status = stat()
        guard !self.isNamed, let path, stat(path, &status) == 0 else { return }
        let fault: String
        if ![0, geteuid()].contains(status.st_uid) {
            fault = "belongs to the user \(LocalUser.name(of: status.st_uid))"
        } else if status.st_mode & 0o002 != 0 {
            fault = "can be changed by every user (mode 0\(String(status.st_mode & 0o7777, radix: 8)))"
        } else {
            return
        }
        throw ConfigurationError("\(path) \(fault), so it is not read; if you trust it, name it with --config")
    }

    /// Whether the file exists, even if it cannot be read: a command should fail at such a file
    /// rather than use another file.
    package static func isThere(_ path: String) -> Bool {
        var status = stat()
        // If the process may not search its working folder, the file counts as missing, since this
        // user can have no configuration there. This happens when the service's user starts a
        // command in root's home folder.
        return stat(path, &status) == 0 || errno == EACCES && path.hasPrefix("/")
    }

    /// The configuration's source in the form for messages.
    package var description: String {
        if let path { return path }
        let source = self.variables.isEmpty ? "built-in settings" : "environment variables"
        return "\(source), as there is no \(Self.usual.joined(separator: " and no "))"
    }

    /// Whether the user knows the file without being told: `--config` names it, or the error does.
    func isKnown(from error: String) -> Bool { self.isTyped || self.path.map { error.contains($0) } ?? false }

    /// Replaces the key at the beginning of a message by the variable that set the key, or by the
    /// file, the line and the key. Errors after loading know only the key.
    func naming(_ message: String) -> String {
        let key = message.prefix { $0 != ":" }
        let path = key.split(separator: ".").map(String.init)
        let variable = ConfigurationSource.variable(path)
        guard let place = self.variables.contains(variable) ? variable : self.place(of: path) else { return message }
        return place + message.dropFirst(key.count)
    }

    /// The file, line and key; `nil` if the file does not set the key.
    private func place(of path: [String]) -> String? {
        guard let file = self.path else { return nil }
        // Loading has read the file already. If the file has changed since, the error names no
        // line.
        return try? ConfigurationSource(file: file, environment: [:]).place(ofSet: path)
    }
}

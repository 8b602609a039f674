import Foundation
import Glibc

/// The file from which a command reads its configuration.
///
/// This is the file that `--config` names, else the file that `SEALPOST_CONFIG` names, else the
/// first usual file that exists.
package struct ConfigurationFile: Sendable, Hashable, CustomStringConvertible {
    /// The variable that names a file.
    static let variable = "SEALPOST_CONFIG"
    /// The usual files, in their order: one in the working folder, and the Debian package's.
    package static let usual = ["./sealpost.yaml", "/etc/sealpost/sealpost.yaml"]

    /// `nil`: there is no file, and the command uses the environment and the built-in settings.
    package let path: String?
    /// Whether somebody named the file.
    private let isNamed: Bool
    /// The variables that set keys.
    private let variables: Set<String>

    /// `isThere` tells whether a usual file exists.
    package init(
        option: String?,
        environment: [String: String],
        isThere: (String) -> Bool = Self.isThere
    ) {
        let named = option ?? environment[Self.variable].flatMap { $0.isEmpty ? nil : $0 }
        self.path = named ?? Self.usual.first(where: isThere)
        self.isNamed = named != nil
        self.variables = ConfigurationSource.variables(in: environment)
    }

    /// Throws `ConfigurationError` for a file that nobody named and another user may have put
    /// there, such as one in a folder for temporary files.
    package func refuseForeign() throws(ConfigurationError) {
        var status = stat()
        guard !self.isNamed, let path, stat(path, &status) == 0 else { return }
        guard [0, geteuid()].contains(status.st_uid), status.st_mode & 0o002 == 0 else {
            throw ConfigurationError("\(path) may be another user's; if you trust it, name it with --config")
        }
    }

    /// Whether the file exists, even if it cannot be read: the command should then fail rather
    /// than use another file.
    package static func isThere(_ path: String) -> Bool {
        var status = stat()
        // If the process may not search its working folder, no configuration of this user can be
        // there. An example is root's folder for the service's user.
        return stat(path, &status) == 0 || errno == EACCES && path.hasPrefix("/")
    }

    /// The configuration, as messages name it.
    package var description: String {
        if let path { return path }
        let source = self.variables.isEmpty ? "built-in settings" : "environment variables"
        return "\(source), as there is no \(Self.usual.joined(separator: " and no "))"
    }

    /// The error with the variable, or the file and the line, that set the key at its beginning:
    /// errors after loading know only the key.
    func naming(_ error: ConfigurationError) -> ConfigurationError {
        let key = error.description.prefix { $0 != ":" }
        let path = key.split(separator: ".").map(String.init)
        let variable = ConfigurationSource.variable(path)
        guard let place = self.variables.contains(variable) ? variable : self.place(of: path) else { return error }
        return ConfigurationError(place + error.description.dropFirst(key.count))
    }

    /// The file, line and key; `nil` if the file does not set the key.
    private func place(of path: [String]) -> String? {
        // A pipe, which has no size, cannot be read twice.
        var status = stat()
        guard let file = self.path, stat(file, &status) == 0, status.st_size > 0 else { return nil }
        // The file was read before; if it has changed since, the error has no line.
        return try? ConfigurationSource(file: file, environment: [:]).place(ofSet: path)
    }
}

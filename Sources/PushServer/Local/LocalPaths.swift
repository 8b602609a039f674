/// The paths that only the local admin socket has; the socket also has the paths of the API for
/// administrators.
package enum LocalPaths {
    /// Shows that the daemon runs, and the id of its process.
    package static let daemon = "/local/daemon"
    /// Exports and imports users as lines, and deletes a user whose name no path can have.
    package static let users = "/local/users"
    /// Shows all data of a user.
    package static let userData = "/local/user-data"
    /// Verifies that nobody has changed the audit.
    package static let audit = "/local/audit"
    /// Makes the daemon read the keyring again.
    package static let keys = "/local/keys"
    /// Lists, adds and removes keys of the keyring's file.
    package static let keyring = "/local/keyring"
    /// Accepts the machine's clock.
    package static let clock = "/local/clock"
    /// Writes a copy of the database to a file.
    package static let backup = "/local/backup"
    /// Counts a notification's pushes by state.
    package static let deliveries = "/local/deliveries"
    /// Lists a notification's recipients.
    package static let recipients = "/local/recipients"
    /// Sends a notification.
    package static let notifications = "/local/notifications"

    /// The type of a problem with the database that no restart cures. Commands exit with 78.
    package static let unusableDatabase = "urn:sealpost:command:bad-configuration"
}

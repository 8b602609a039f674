/// The paths that only the local admin socket has, beside those of administrators.
package enum LocalPaths {
    /// Whether the daemon answers, and which it is.
    package static let daemon = "/local/daemon"
    /// Users as lines: to be exported, and to be imported.
    package static let users = "/local/users"
    /// Whether the audit is as it was written.
    package static let audit = "/local/audit"
    /// The keyring: to be read again.
    package static let keys = "/local/keys"
    /// The keyring's file: its keys are listed, one is added, and one removed.
    package static let keyring = "/local/keyring"
    /// The machine's clock, to be accepted.
    package static let clock = "/local/clock"
    /// A copy of the database, to be written to a file.
    package static let backup = "/local/backup"
    /// How far a notification's pushes are.
    package static let deliveries = "/local/deliveries"
}

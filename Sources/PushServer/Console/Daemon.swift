package import Foundation
package import PushCore

/// What the server tells operators of the parts of the daemon that it does not know, and asks of them.
package struct Daemon: Sendable {
    /// The program's version.
    package let version: String
    /// The certificates and secrets that end, by their names in the configuration.
    package let credentials: @Sendable () -> [(name: String, expiresAt: Date)]
    /// The lanes of this server's senders, and the pauses that they are in.
    package let pauses: @Sendable () -> [Lane: Pause?]
    /// Ends the pause of a lane, if it is in one: its pushes are tried at once.
    package let retry: @Sendable (Lane) -> Void
    /// Reads the keyring's file again, for the actor, and seals with its first key; returns why the old one stays in use, if it does.
    package let reloadKeys: @Sendable (AuditRecord.Actor) async throws -> String?
    /// Has all that is sealed with other keys sealed anew, in the background.
    package let rewrap: @Sendable () -> Void
    /// Believes the machine's clock, for the actor; returns its time, or `nil` if it was believed already.
    package let acceptClock: @Sendable (AuditRecord.Actor) async throws -> Date?
    package let files: LocalFiles

    package init(
        version: String = "",
        credentials: @escaping @Sendable () -> [(name: String, expiresAt: Date)] = { [] },
        pauses: @escaping @Sendable () -> [Lane: Pause?] = { [:] },
        retry: @escaping @Sendable (Lane) -> Void = { _ in },
        reloadKeys: @escaping @Sendable (AuditRecord.Actor) async throws -> String? = { _ in nil },
        rewrap: @escaping @Sendable () -> Void = {},
        acceptClock: @escaping @Sendable (AuditRecord.Actor) async throws -> Date? = { _ in nil },
        files: LocalFiles = LocalFiles()
    ) {
        self.version = version
        self.credentials = credentials
        self.pauses = pauses
        self.retry = retry
        self.reloadKeys = reloadKeys
        self.rewrap = rewrap
        self.acceptClock = acceptClock
        self.files = files
    }
}

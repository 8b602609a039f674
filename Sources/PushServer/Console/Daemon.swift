package import Foundation
package import PushCore

/// The parts of the daemon that the server does not own, but shows to operators or controls for
/// them.
package struct Daemon: Sendable {
    /// The program's version.
    package let version: String
    /// The certificates and secrets that expire, by their names in the configuration.
    package let credentials: @Sendable () -> [CredentialExpiry]
    /// The lanes of this server's senders, each with its pause, if it is paused.
    package let pauses: @Sendable () -> [Lane: Pause?]
    /// Ends the pause of a lane, if it is paused, so that its pushes are sent at once.
    package let retry: @Sendable (Lane) -> Void
    /// Reads the keyring's file again, for the actor, and encrypts with its first key from now on.
    /// If the old keyring stays in use, it returns the reason.
    package let reloadKeys: @Sendable (AuditRecord.Actor) async throws -> String?
    /// Encrypts again, in the background, all values that are under other keys.
    package let rewrap: @Sendable () -> Void
    /// Accepts the machine's clock, for the actor; returns the clock's time, or `nil` if the
    /// server accepts the clock already.
    package let acceptClock: @Sendable (AuditRecord.Actor) async throws -> Date?
    package let files: LocalFiles

    package init(
        version: String = "",
        credentials: @escaping @Sendable () -> [CredentialExpiry] = { [] },
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

extension [Lane: Pause?] {
    /// Whether a sender of this server serves the lane. The dictionary must have all lanes of the
    /// server, and `platforms` all platforms with a sender.
    ///
    /// A platform loses the lane of a host or an environment that the configuration no longer
    /// names. A platform without any lane in the dictionary counts as having this one. A command
    /// without a server knows no lanes, nor does a server whose delivery has not begun.
    func hasSender(for lane: Lane, among platforms: Set<String>) -> Bool {
        guard platforms.contains(lane.platform) else { return false }
        return self.keys.contains(lane) || !self.keys.contains { $0.platform == lane.platform }
    }
}

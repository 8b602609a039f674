package import Foundation
package import PushCore

/// The parts of the daemon outside of `PushServer` that operators can see or control through the
/// server.
package struct Daemon: Sendable {
    /// The program's version.
    package let version: String
    /// The configured certificates and secrets that expire, each with its name in the
    /// configuration.
    package let credentials: @Sendable () -> [CredentialExpiry]
    /// The lanes of this server's senders (a lane is the queue of pushes to one provider), each
    /// with its pause; the pause is `nil` for a lane that is not paused.
    package let pauses: @Sendable () -> [Lane: Pause?]
    /// Ends the pause of a lane, if the lane is paused, so that its pushes are sent at once.
    package let retry: @Sendable (Lane) -> Void
    /// Reads the keyring's file again, and encrypts with the file's first key from now on. The
    /// argument is the actor for the audit. If the old keyring stays in use, returns the reason.
    package let reloadKeys: @Sendable (AuditRecord.Actor) async throws -> String?
    /// Starts a background task that encrypts again all values that are not encrypted with the
    /// keyring's first key.
    package let rewrap: @Sendable () -> Void
    /// Makes the server trust the machine's clock, which it does not trust while the clock is too
    /// far ahead. The argument is the actor for the audit. Returns the clock's time, or `nil` if
    /// the server trusts the clock already.
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
    /// Whether a sender of this server serves the lane (the queue of pushes to one provider). This
    /// dictionary must have all lanes that the configuration names, and `platforms` must have all
    /// platforms with a sender.
    ///
    /// A stored lane whose host or environment the configuration no longer names is not in the
    /// dictionary, and no sender serves it. But if the dictionary has no lane of a platform, each
    /// lane of the platform counts as served: before delivery has begun, and in a command that
    /// runs without a daemon, no lane is known.
    func hasSender(for lane: Lane, among platforms: Set<String>) -> Bool {
        guard platforms.contains(lane.platform) else { return false }
        return self.keys.contains(lane) || !self.keys.contains { $0.platform == lane.platform }
    }
}

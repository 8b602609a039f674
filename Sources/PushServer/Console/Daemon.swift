package import Foundation
package import PushCore

/// The parts of the daemon outside of `PushServer` that operators can see or control through the
/// server.
package struct Daemon: Sendable {
    /// The program's version.
    package var version = ""
    /// The configured certificates and secrets that expire, each with its name in the
    /// configuration.
    package var credentials: @Sendable () -> [CredentialExpiry] = { [] }
    /// The lanes of this server's senders (a lane is the queue of pushes to one provider), each
    /// with its pause; the pause is `nil` for a lane that is not paused.
    package var pauses: @Sendable () -> [Lane: Pause?] = { [:] }
    /// Ends the pause of a lane, if the lane is paused, so that its pushes are sent at once.
    package var retry: @Sendable (Lane) -> Void = { _ in }
    /// Reads the keyring's file again, and encrypts with the file's first key from now on. The
    /// argument is the actor for the audit. If the old keyring stays in use, returns the reason.
    package var reloadKeys: @Sendable (AuditRecord.Actor) async throws -> String? = { _ in nil }
    /// Starts a background task that encrypts again all values that are not encrypted with the
    /// keyring's first key.
    package var rewrap: @Sendable () -> Void = {}
    /// Makes the server trust the machine's clock, which it does not trust while the clock is too
    /// far ahead. The argument is the actor for the audit. Returns the clock's time, or `nil` if
    /// the server trusts the clock already.
    package var acceptClock: @Sendable (AuditRecord.Actor) async throws -> Date? = { _ in nil }
    package var files = LocalFiles()
    /// The reasons why the server cannot store or return notifications; empty when it is ready.
    /// Strangers can read these texts.
    ///
    /// A provider that accepts no pushes is not a reason: if the load balancer removed the server
    /// because of such a provider, the server could not return notifications either.
    package var troubles: @Sendable () -> [String] = { [] }
    /// Faults that an operator must repair, although the server can serve requests. Strangers can
    /// read these texts.
    package var warnings: @Sendable () -> [String] = { [] }
    /// The metrics that `PushServer` cannot compute itself.
    package var samples: @Sendable () -> [MetricSample] = { [] }
    /// The counts that the console shows.
    package var history = StatusHistory()
    /// The code with which the operator makes the first administrator.
    package var setup = SetupCode()

    package init() {}
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

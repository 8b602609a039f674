internal import PushCore
internal import SocketHTTP
internal import Synchronization

/// Checks a password once for many requests that send it at the same moment, as the fetches of one
/// phone do.
final class SharedChecks: Sendable {
    /// The subject of a check: the same credentials, from the same address, against the same hash.
    /// Requests with equal subjects share one check.
    struct Subject: Sendable, Hashable {
        let credentials: Fingerprint
        let hash: PasswordHash
        /// Whether the user exists and may sign in.
        let maySignIn: Bool
        let origin: PeerAddress?
    }

    typealias Outcome = Result<Bool, any Error>

    private let running = Mutex<[Subject: [CheckedContinuation<Outcome?, Never>]]>([:])

    /// If a check of the same subject is running, waits for its outcome and returns it. Otherwise
    /// returns `nil`: the caller must then make the check, and end it with `finish`.
    func join(_ subject: Subject) async -> Outcome? {
        await withCheckedContinuation { (continuation: CheckedContinuation<Outcome?, Never>) in
            let isFirst = self.running.withLock { running in
                guard running[subject] == nil else {
                    running[subject]?.append(continuation)
                    return false
                }
                running[subject] = []
                return true
            }
            if isFirst { continuation.resume(returning: nil) }
        }
    }

    func finish(_ subject: Subject, _ outcome: Outcome) {
        let others = self.running.withLock { $0.removeValue(forKey: subject) } ?? []
        for other in others { other.resume(returning: outcome) }
    }
}

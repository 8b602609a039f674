internal import PushCore
internal import SocketHTTP
internal import Synchronization

/// Has a password checked once where many requests show it at the same moment, as the fetches of one phone do.
final class SharedChecks: Sendable {
    /// What makes two checks one: the same credentials from the same place, with the same against them.
    struct Subject: Sendable, Hashable {
        let credentials: Fingerprint
        let hash: PasswordHash
        /// Whether the user is there, and may.
        let maySignIn: Bool
        let origin: PeerAddress?
    }

    typealias Outcome = Result<Bool, any Error>

    private let running = Mutex<[Subject: [CheckedContinuation<Outcome?, Never>]]>([:])

    /// What the same check found that was under way; `nil`: there was none, and it is the caller's to make. It must end
    /// it by `finish`.
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

internal import Foundation
internal import PushAPI
internal import PushCore
internal import SocketHTTP
internal import Synchronization

/// Slows down whoever guesses: stands before the only check of credentials, and behind what remembers right ones.
///
/// All in memory, 13 MB when it is full, and gone with the process. It holds no names and no addresses but keyed
/// hashes of them, and treats names alike that there are and that there are not.
final class SignInLimiter: Sendable {
    typealias Attempt = SignInFailures.Attempt

    /// Never taken by what is remembered.
    private let failures = Mutex(SignInFailures())

    /// Begins an attempt that must be ended by `succeed` or `withdraw`, or else has failed.
    ///
    /// `origin` is `nil` where an address would stand for everybody. Throws `TryLater`.
    func begin(_ account: Username, from origin: PeerAddress?, now: Date) throws(TryLater) -> Attempt {
        let attempt = Attempt(
            account: Self.key(account.key),
            address: origin.map { Self.key($0) },
            pair: Self.key(account.key, origin)
        )
        switch self.failures.withLock({ $0.begin(attempt, now: now) }) {
        case .mayTry(let attempt): return attempt
        case .mustWait(let seconds): throw TryLater(.tooManyAttempts, seconds: seconds)
        }
    }

    func succeed(_ attempt: Attempt, now: Date) {
        self.failures.withLock { $0.succeed(attempt, now: now) }
    }

    /// Ends an attempt that nobody had time to check.
    func withdraw(_ attempt: Attempt, now: Date) {
        self.failures.withLock { $0.withdraw(attempt, now: now) }
    }

    /// Counts invalid credentials that name no account. Throws `TryLater` instead if there were too many before.
    func countInvalidCredentials(from origin: PeerAddress?, now: Date) throws(TryLater) {
        guard let origin else { return }
        let key = Self.key(origin)
        if let seconds = self.failures.withLock({ $0.countInvalidCredentials(of: key, now: now) }) {
            throw TryLater(.tooManyAttempts, seconds: seconds)
        }
    }

    /// SipHash under a key of this process, which the standard library draws at random.
    private static func key<each Part: Hashable>(_ part: repeat each Part) -> SignInFailures.Key {
        var hasher = Hasher()
        repeat hasher.combine(each part)
        return UInt64(truncatingIfNeeded: hasher.finalize())
    }
}

/// A refusal that says when to come again.
struct TryLater: Error, Hashable {
    let code: ProblemCode
    /// Whole ones, and the wait is over after them.
    let seconds: Int

    /// Rounds up. `seconds` is at most some thousand years.
    init(_ code: ProblemCode, seconds: TimeInterval) {
        self.code = code
        self.seconds = max(1, Int(seconds.rounded(.up)))
    }
}

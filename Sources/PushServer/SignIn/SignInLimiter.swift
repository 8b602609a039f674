internal import Foundation
internal import PushAPI
internal import PushCore
internal import SocketHTTP
internal import Synchronization

/// Slows down guessers: stands before the only check of credentials, and behind the cache of right ones.
///
/// All in memory, 20 MB when it is full, and gone with the process. It holds no names, passwords or addresses but keyed
/// hashes of them, and treats existing and unknown names alike.
final class SignInLimiter: Sendable {
    /// Never locked for credentials that are in the cache.
    private let failures = Mutex(SignInFailures())

    /// Begins an attempt that must be ended by `succeed` or `withdraw`, or else has failed.
    ///
    /// `origin` is `nil` where an address would stand for everybody. Throws `TryLater`.
    func begin(
        _ account: Username,
        password: Secret<String>,
        from origin: PeerAddress?,
        now: Date
    ) throws(TryLater) -> SignInAttempt {
        let attempt = SignInAttempt(
            account: Self.key(account.key),
            password: Self.key(account.key, password.exposed),
            address: origin.map { Self.key($0) },
            pair: Self.key(account.key, origin),
            networks: Self.networks(around: origin, of: account)
        )
        switch self.failures.withLock({ $0.begin(attempt, now: now) }) {
        case .mayTry(let attempt): return attempt
        case .mustWait(let seconds, let isGuessing):
            throw TryLater(.tooManyAttempts, seconds: seconds, isGuessing: isGuessing)
        }
    }

    /// Whom a hash is made for that is no attempt, such as that of a new password.
    func requester(_ account: Username, from origin: PeerAddress?) -> HashingRequester {
        HashingRequester(account: Self.key(account.key), address: origin.map { Self.key($0) }, rank: 0)
    }

    func succeed(_ attempt: SignInAttempt, now: Date) {
        self.failures.withLock { $0.succeed(attempt, now: now) }
    }

    /// Ends an attempt that was not checked for lack of time.
    func withdraw(_ attempt: SignInAttempt, now: Date) {
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

    private static func networks(around origin: PeerAddress?, of account: Username) -> [SignInAttempt.Network] {
        guard case .ip(let address) = origin, !address.isIPv4 else { return [] }
        return SignInAttempt.Network.Width.allCases.map { width in
            let network = address.network(bits: width.rawValue)
            return .init(
                width: width,
                address: Self.key(width, network),
                pair: Self.key(account.key, width, network)
            )
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
    /// Whether so many sign-ins were refused that credentials in the cache must no longer pass either.
    let isGuessing: Bool

    /// Rounds up. `seconds` is at most some thousand years.
    init(_ code: ProblemCode, seconds: TimeInterval, isGuessing: Bool = false) {
        self.code = code
        self.isGuessing = isGuessing
        self.seconds = max(1, Int(seconds.rounded(.up)))
    }
}

internal import Cryptography
internal import Foundation
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP
internal import Synchronization

/// Slows down guessers: stands before the only check of credentials, and behind the cache of right ones.
///
/// All in memory, 20 MB when it is full, and gone with the process; servers that share a store tell each other of failures.
/// It holds no names, passwords or addresses but keyed hashes of them, and treats existing and unknown names alike.
final class SignInLimiter: Sendable {
    private struct State {
        var failures = SignInFailures()
        /// What the other servers must know; `nil`: there are none.
        var book: SignInBook?
    }

    /// Never locked for credentials that are in the cache.
    private let state: Mutex<State>
    /// Hashes what attempts consist of.
    private let code: KeyedHash

    /// `sharedKey` is the same on all servers that tell each other of failures; `nil`: there are no others.
    init(sharedKey: SymmetricKey? = nil) {
        self.code = KeyedHash(key: sharedKey ?? SymmetricKey(size: .bits256))
        self.state = Mutex(State(book: sharedKey == nil ? nil : SignInBook()))
    }

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
            account: self.key(account.key),
            password: self.key(account.key, password.exposed),
            address: origin.map { self.key($0.description) },
            pair: self.key(account.key, origin?.description),
            networks: self.networks(around: origin, of: account)
        )
        let verdict = self.state.withLock { state in
            let verdict = state.failures.begin(attempt, now: now)
            return state.book?.begin(verdict, of: attempt) ?? verdict
        }
        switch verdict {
        case .mayTry(let attempt): return attempt
        case .mustWait(let seconds, let isGuessing, _):
            throw TryLater(.tooManyAttempts, seconds: seconds, isGuessing: isGuessing)
        }
    }

    /// Whom a hash is made for that is no attempt, such as that of a new password.
    func requester(_ account: Username, from origin: PeerAddress?) -> HashingRequester {
        HashingRequester(
            account: self.key(account.key),
            address: origin.map { self.key($0.description) },
            rank: 0
        )
    }

    func succeed(_ attempt: SignInAttempt, now: Date) {
        self.state.withLock { state in
            state.failures.succeed(attempt, now: now)
            state.book?.succeed(attempt)
        }
    }

    /// Ends an attempt that was not checked for lack of time.
    func withdraw(_ attempt: SignInAttempt, now: Date) {
        self.state.withLock { state in
            state.failures.withdraw(attempt, now: now)
            state.book?.withdraw(attempt)
        }
    }

    /// Counts invalid credentials that name no account. Throws `TryLater` instead if there were too many before.
    func countInvalidCredentials(from origin: PeerAddress?, now: Date) throws(TryLater) {
        guard let origin else { return }
        let key = self.key(origin.description)
        let seconds = self.state.withLock { state in
            let seconds = state.failures.countInvalidCredentials(of: key, now: now)
            if seconds == nil { state.book?.countInvalidCredentials(of: key) }
            return seconds
        }
        if let seconds { throw TryLater(.tooManyAttempts, seconds: seconds) }
    }

    // MARK: - Private

    private func networks(around origin: PeerAddress?, of account: Username) -> [SignInAttempt.Network] {
        guard case .ip(let address) = origin, !address.isIPv4 else { return [] }
        return SignInAttempt.Network.Width.allCases.map { width in
            let network = "\(address.network(bits: width.rawValue))/\(width.rawValue)"
            return .init(width: width, address: self.key(network), pair: self.key(account.key, network))
        }
    }

    /// A keyed hash of the parts.
    private func key(_ parts: String?...) -> SignInFailures.Key {
        self.code.code { hash in
            for part in parts {
                // The length keeps parts apart, and tells none from an empty one.
                withUnsafeBytes(of: Int64(part?.utf8.count ?? -1)) { hash.update(bufferPointer: $0) }
                if let part { hash.update(data: Array(part.utf8)) }
            }
        }
        .withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
    }
}

extension SignInLimiter: SharedLimit {
    func takeNews(into news: inout LimitNews, now: Date) {
        news.signIns += self.state.withLock { $0.book?.take() ?? [] }
    }

    /// What others have counted is counted here as if it had happened now.
    func apply(_ answer: LimitAnswer, now: Date) {
        self.state.withLock { state in
            for message in answer.messages {
                for news in message.news?.signIns ?? [] { state.failures.apply(news, now: now) }
            }
        }
    }
}

/// A refusal that says when to come again.
struct TryLater: Error, Hashable {
    let code: ProblemCode
    /// Whole ones, and the wait is over after them.
    let seconds: Int
    /// Whether so many sign-ins were refused that credentials in the cache must no longer pass either.
    let isGuessing: Bool
    /// The problem's; `nil`: it has none.
    let detail: String?

    /// Rounds up. `seconds` is at most some thousand years.
    init(_ code: ProblemCode, seconds: TimeInterval, isGuessing: Bool = false, detail: String? = nil) {
        self.code = code
        self.detail = detail
        self.isGuessing = isGuessing
        self.seconds = max(1, Int(seconds.rounded(.up)))
    }
}

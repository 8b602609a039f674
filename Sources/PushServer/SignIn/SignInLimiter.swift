internal import Cryptography
internal import Foundation
internal import PushAPI
internal import PushCore
internal import SocketHTTP
internal import Synchronization

/// Throttles guessers before their credentials are checked. Requests with credentials that are in
/// the cache are not throttled.
///
/// The limiter's state is in memory only, and takes 20 MB when it is full. If several servers
/// share a database, each has its own limiter; the more servers there are, the longer the limiters
/// make clients wait. A limiter contains keyed hashes instead of names, passwords and addresses.
/// It treats existing and unknown names alike.
final class SignInLimiter: Sendable {
    private struct State {
        var failures = SignInFailures()
        var clock = DividedClock()
    }

    /// This lock is never taken for a request whose credentials are in the cache.
    private let state = Mutex(State())
    /// Hashes the names, passwords and addresses of attempts.
    private let code = KeyedHash(key: SymmetricKey(size: .bits256))
    private let servers: ServerCount

    /// `servers` counts the servers that share the store, this one included.
    init(servers: ServerCount = ServerCount()) {
        self.servers = servers
    }

    /// Expects requests whose bodies take up to `bodyTimeout`: such a request may count invalid
    /// credentials long after its own time.
    func expect(bodyTimeout: Duration) {
        let seconds = TimeInterval(bodyTimeout.components.seconds)
        self.state.withLock { $0.clock.slack = max($0.clock.slack, 30 + seconds) }
    }

    /// Begins an attempt. The caller must end the attempt by `succeed` or `cancel`; otherwise the
    /// attempt counts as failed.
    ///
    /// `origin` is `nil` if all clients have the same address, for example behind a proxy.
    /// `number` is the number of the account's password. Throws `TryLater` if the client must
    /// wait.
    func begin(
        _ account: Username,
        password: Secret<String>,
        number: Int64,
        from origin: PeerAddress?,
        now: Date
    ) throws(TryLater) -> SignInAttempt {
        let attempt = SignInAttempt(
            account: self.key(account.key),
            password: self.key(account.key, password.exposed),
            address: origin.map { self.key($0.description) },
            pair: self.key(account.key, origin?.description),
            counter: self.key(account.key, "\(number)", origin?.description),
            networks: self.networks(around: origin, of: account, number)
        )
        let verdict = self.state.withLock { state in
            state.clock.advance(to: now, self.servers)
            return state.failures.begin(attempt, now: state.clock.now)
        }
        switch verdict {
        case .mayTry(let attempt): return attempt
        case .mustWait(let seconds, let isGuessing):
            let seconds = seconds * Double(self.servers.current)
            throw TryLater(.tooManyAttempts, seconds: seconds, isGuessing: isGuessing)
        }
    }

    /// The requester of a password hash that is not part of an attempt to sign in, such as the
    /// hash of a new password.
    func requester(_ account: Username, from origin: PeerAddress?) -> HashingRequester {
        HashingRequester(
            account: self.key(account.key),
            address: origin.map { self.key($0.description) },
            rank: 0
        )
    }

    func succeed(_ attempt: SignInAttempt) {
        self.state.withLock { $0.failures.succeed(attempt, now: $0.clock.now) }
    }

    /// Ends an attempt whose password the server had no time to check.
    func cancel(_ attempt: SignInAttempt) {
        self.state.withLock { $0.failures.cancel(attempt, now: $0.clock.now) }
    }

    /// Counts invalid credentials that name no account. Throws `TryLater` instead if the address
    /// has sent too many before.
    func countInvalidCredentials(from origin: PeerAddress?, now: Date) throws(TryLater) {
        guard let origin else { return }
        let key = self.key(origin.description)
        let seconds = self.state.withLock { state in
            state.clock.advance(to: now, self.servers)
            return state.failures.countInvalidCredentials(of: key, now: state.clock.now)
        }
        if let seconds { throw TryLater(.tooManyAttempts, seconds: seconds * Double(self.servers.current)) }
    }

    // MARK: - Private

    private func networks(
        around origin: PeerAddress?,
        of account: Username,
        _ number: Int64
    ) -> [SignInAttempt.Network] {
        guard case .ip(let address) = origin, !address.isIPv4 else { return [] }
        return SignInAttempt.Network.Width.allCases.map { width in
            let network = "\(address.network(bits: width.rawValue))/\(width.rawValue)"
            let pair = self.key(account.key, "\(number)", network)
            return .init(width: width, address: self.key(network), pair: pair)
        }
    }

    /// A keyed hash of all parts together.
    private func key(_ parts: String?...) -> SignInFailures.Key {
        self.code.code { hash in
            for part in parts {
                // The length before each part separates the parts, and distinguishes a missing
                // part (length -1) from an empty one.
                withUnsafeBytes(of: Int64(part?.utf8.count ?? -1)) { hash.update(bufferPointer: $0) }
                if let part { hash.update(data: Array(part.utf8)) }
            }
        }
        .withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
    }
}

/// A clock that runs more slowly the more servers share the database: elapsed time is divided by
/// the number of servers. With three servers, each admits a third of the attempts, and all
/// together admit as many as one server would. If the system's clock is set back, this clock
/// continues from its last time.
private struct DividedClock {
    /// The number of seconds by which the time of a request may precede the time of another
    /// request, because the request has waited for its body or for a hash. A larger difference
    /// means that the system's clock was set back.
    var slack: TimeInterval = 60

    private var last: Date?
    private var elapsed: TimeInterval = 0

    var now: Date { Date(timeIntervalSinceReferenceDate: self.elapsed) }

    /// Advances the clock to the time of a request. The earlier time of a request that has waited
    /// must not become `last`: the same seconds would elapse twice.
    mutating func advance(to now: Date, _ servers: ServerCount) {
        let step = now.timeIntervalSince(self.last ?? now)
        guard step >= 0 || step < -self.slack else { return }
        self.elapsed += max(0, step) / Double(servers.current)
        self.last = now
    }
}

/// A refusal that tells the client when to try again.
struct TryLater: Error, Hashable {
    let code: ProblemCode
    /// The number of seconds until the wait has ended.
    let seconds: Int
    /// Whether so many sign-ins were refused that even cached credentials of the account must not
    /// be accepted.
    let isGuessing: Bool
    /// The detail of the problem; `nil` if the problem has none.
    let detail: String?

    /// Rounds `seconds` up. `seconds` must not be more than a few thousand years.
    init(_ code: ProblemCode, seconds: TimeInterval, isGuessing: Bool = false, detail: String? = nil) {
        self.code = code
        self.detail = detail
        self.isGuessing = isGuessing
        self.seconds = max(1, Int(seconds.rounded(.up)))
    }
}

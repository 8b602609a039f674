internal import Cryptography
internal import Foundation
internal import Logging
internal import PushAPI
internal import PushCore
internal import SocketHTTP

/// Guards every check of credentials that are not cached. Only this type compares passwords, and
/// only this type counts and refuses invalid credentials of other kinds.
///
/// The guard treats existing and unknown names alike.
final class SignInGuard: Sendable {
    private let pool: HashingPool
    let limiter: SignInLimiter
    private let checks = SharedChecks()
    private let counts: SignInCounts
    /// A keyed hash with a random key of this process, so that the memory contains no plain hash
    /// of a password.
    private let code = KeyedHash(key: SymmetricKey(size: .bits256))

    init(pool: HashingPool, limiter: SignInLimiter, logger: Logger) {
        self.pool = pool
        self.limiter = limiter
        self.counts = SignInCounts(logger: logger)
    }

    var samples: [MetricSample] { self.counts.samples }

    /// Whether the password matches `hash`, and the user may sign in. The password is hashed off
    /// the event loop. The check takes equally long for a user who may not sign in.
    ///
    /// If the same password arrives many times at once, as in the fetches of one phone, all of
    /// these requests are one attempt. A wrong password counts against the address `origin`, which
    /// is `nil` if all clients have the same address, for example behind a proxy. `number` is the
    /// number of the user's password; any number serves for an unknown name.
    ///
    /// Throws `TryLater` after too many wrong passwords, and a `busy` problem if too many hashes
    /// wait.
    func isRight(
        _ password: Secret<String>,
        of name: Username,
        number: Int64,
        by hash: PasswordHash,
        maySignIn: Bool,
        from origin: PeerAddress?,
        now: Date
    ) async throws -> Bool {
        let credentials = Fingerprint(of: "\(name.key):\(password.exposed)", code: self.code)
        let subject = SharedChecks.Subject(credentials: credentials, hash: hash, maySignIn: maySignIn, origin: origin)
        if let outcome = await self.checks.join(subject) { return try outcome.get() }
        let outcome = await self.check(password, of: name, number, for: subject, now: now)
        self.checks.finish(subject, outcome)
        return try outcome.get()
    }

    /// Counts wrong credentials that contain no password of a named account, such as an unknown
    /// token. Returns the error for the answer: a problem with that code, or `TryLater` after too
    /// many wrong credentials.
    func refusal(_ code: ProblemCode, from origin: PeerAddress?, now: Date) -> any Error {
        self.refusal(Problem(code), from: origin, now: now)
    }

    /// Does the same as the method above, but for a problem that has a detail or members.
    func refusal(_ problem: Problem, from origin: PeerAddress?, now: Date) -> any Error {
        do {
            try self.limiter.countInvalidCredentials(from: origin, now: now)
            self.counts.record(.wrong, from: origin, now: now)
            return problem
        } catch {
            self.counts.record(.throttled, from: origin, now: now)
            return error
        }
    }

    /// The requester of a password hash that is not part of a sign-in, such as the hash of a new
    /// password.
    func requester(_ account: Username, from origin: PeerAddress?) -> HashingRequester {
        self.limiter.requester(account, from: origin)
    }

    /// Counts a sign-in with valid credentials other than a password.
    func recordRight(now: Date) {
        self.counts.record(.right, from: nil, now: now)
    }

    /// Counts credentials that are refused, but that cannot be a guess.
    func recordWrong(from origin: PeerAddress?, now: Date) {
        self.counts.record(.wrong, from: origin, now: now)
    }

    /// Logs why a token of the issuer is refused, if the answer is 401.
    func record(_ fault: TokenFault, from origin: PeerAddress?, now: Date) {
        if fault.isLogged { self.counts.record(fault, from: origin, now: now) }
    }

    // MARK: - Private

    private func check(
        _ password: Secret<String>,
        of name: Username,
        _ number: Int64,
        for subject: SharedChecks.Subject,
        now: Date
    ) async -> SharedChecks.Outcome {
        let origin = subject.origin
        let attempt: SignInAttempt
        do {
            attempt = try self.limiter.begin(name, password: password, number: number, from: origin, now: now)
        } catch {
            self.counts.record(.throttled, from: origin, now: now)
            return .failure(error)
        }
        let requester = HashingRequester(account: attempt.account, address: attempt.address, rank: attempt.rank)
        let matches: Bool
        do {
            matches = try await self.pool.run(for: requester) { subject.hash.matches(password.exposed) }
        } catch {
            self.limiter.cancel(attempt)
            self.counts.record(.busy, from: origin, now: now)
            return .failure(error)
        }
        guard matches, subject.maySignIn else {
            self.counts.record(.wrong, from: origin, now: now)
            return .success(false)
        }
        self.limiter.succeed(attempt)
        self.counts.record(.right, from: origin, now: now)
        return .success(true)
    }
}

internal import Crypto
internal import Foundation
internal import PushCore
internal import Synchronization

/// Remembers for a short while which credentials were right, so that a herd of fetches neither hashes passwords nor
/// looks up tokens.
///
/// An entry lives for one to two half-lives, and no longer than its token. What ends earlier is forgotten: one entry
/// with its token, all when an account changes.
final class CredentialCache: Sendable {
    fileprivate struct State {
        var callers = BoundedTable<Fingerprint, Caller>(bound: 200_000)
        var turnsAt = Date.distantPast
        /// How often something was forgotten on purpose.
        var epoch = 0
    }

    private static let halfLife: TimeInterval = 150

    private let state = Mutex(State())
    /// Under a random key of its own, so that memory holds no hash from which a password could be guessed.
    private let code = KeyedHash(key: SymmetricKey(size: .bits256))

    /// What a name and a password are remembered by, for as long as the process lives; a token has its own hash.
    func key(ofBasic field: String) -> Fingerprint {
        Fingerprint(of: field[...], code: self.code)
    }

    func caller(for key: Fingerprint, now: Date) -> Caller? {
        self.state.withLock { state in
            state.turn(now: now, halfLife: Self.halfLife)
            guard let caller = state.callers[key], caller.isValid(at: now) else { return nil }
            return caller
        }
    }

    /// To be read before the database is, for `remember`.
    var epoch: Int { self.state.withLock { $0.epoch } }

    /// Does nothing if something was forgotten since `epoch`: the caller may have been read before the change was made.
    func remember(_ caller: Caller, for key: Fingerprint, since epoch: Int, now: Date) {
        self.state.withLock { state in
            guard state.epoch == epoch else { return }
            state.turn(now: now, halfLife: Self.halfLife)
            state.callers[key] = caller
        }
    }

    func forget(_ key: Fingerprint) {
        self.state.withLock { state in
            state.epoch += 1
            state.callers[key] = nil
        }
    }

    func forgetAll() {
        self.state.withLock { $0 = State(epoch: $0.epoch + 1) }
    }
}

extension CredentialCache.State {
    fileprivate mutating func turn(now: Date, halfLife: TimeInterval) {
        guard now >= self.turnsAt else { return }
        // After a long silence the young ones are too old as well.
        if now >= self.turnsAt + halfLife { self.callers.turn() }
        self.callers.turn()
        self.turnsAt = now + halfLife
    }
}

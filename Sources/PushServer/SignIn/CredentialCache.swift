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
    fileprivate struct Generations {
        var young: [Fingerprint: Caller] = [:]
        var old: [Fingerprint: Caller] = [:]
        var turnsAt = Date.distantPast
        /// How often something was forgotten on purpose.
        var epoch = 0
    }

    private static let halfLife: TimeInterval = 150
    private static let bound = 100_000

    private let generations = Mutex(Generations())
    /// Under a random key of its own, so that memory holds no hash from which a password could be guessed.
    private let code = KeyedHash(key: SymmetricKey(size: .bits256))

    /// What a name and a password are remembered by, for as long as the process lives; a token has its own hash.
    func key(ofBasic field: String) -> Fingerprint {
        Fingerprint(of: field[...], code: self.code)
    }

    func caller(for key: Fingerprint, now: Date) -> Caller? {
        self.generations.withLock { generations in
            generations.turn(now: now, halfLife: Self.halfLife)
            guard let caller = generations.young[key] ?? generations.old[key], caller.isValid(at: now) else {
                return nil
            }
            return caller
        }
    }

    /// To be read before the database is, for `remember`.
    var epoch: Int { self.generations.withLock { $0.epoch } }

    /// Does nothing if something was forgotten since `epoch`: the caller may have been read before the change was made.
    func remember(_ caller: Caller, for key: Fingerprint, since epoch: Int, now: Date) {
        self.generations.withLock { generations in
            guard generations.epoch == epoch else { return }
            generations.turn(now: now, halfLife: Self.halfLife)
            if generations.young.count >= Self.bound { generations.young.removeAll(keepingCapacity: true) }
            generations.young[key] = caller
        }
    }

    func forget(_ key: Fingerprint) {
        self.generations.withLock { generations in
            generations.epoch += 1
            generations.young[key] = nil
            generations.old[key] = nil
        }
    }

    func forgetAll() {
        self.generations.withLock { $0 = Generations(epoch: $0.epoch + 1) }
    }
}

extension CredentialCache.Generations {
    fileprivate mutating func turn(now: Date, halfLife: TimeInterval) {
        guard now >= self.turnsAt else { return }
        // After a long silence the young ones are too old as well.
        self.old = now < self.turnsAt + halfLife ? self.young : [:]
        self.young = [:]
        self.turnsAt = now + halfLife
    }
}

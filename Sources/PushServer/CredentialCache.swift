internal import Crypto
internal import Foundation
internal import PushStore
internal import Synchronization

/// Remembers for a short while which credentials were right, so that a herd of fetches does not hash passwords.
///
/// Keyed by an HMAC under a key of this process: the memory holds no password, and nobody can choose a colliding key.
/// An entry lives for one to two half-lives; `forgetAll` is called whenever an account changes.
final class CredentialCache: Sendable {
    struct Key: Hashable, Sendable {
        let high: UInt64
        let low: UInt64
    }

    fileprivate struct Generations {
        var young: [Key: User] = [:]
        var old: [Key: User] = [:]
        var turnsAt: Date
    }

    private static let halfLife: TimeInterval = 150
    private static let bound = 100_000

    /// Copied for each use, which is cheaper than keying it anew.
    private let keyed = HMAC<SHA256>(key: SymmetricKey(size: .bits256))
    private let generations = Mutex(Generations(turnsAt: .distantPast))

    func key(for authorization: String) -> Key {
        var hmac = self.keyed
        var authorization = authorization
        authorization.withUTF8 { hmac.update(data: UnsafeRawBufferPointer($0)) }
        return hmac.finalize().withUnsafeBytes {
            Key(high: $0.loadUnaligned(as: UInt64.self), low: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        }
    }

    func user(for key: Key, now: Date) -> User? {
        self.generations.withLock { generations in
            generations.turn(now: now, halfLife: Self.halfLife)
            return generations.young[key] ?? generations.old[key]
        }
    }

    func remember(_ user: User, for key: Key, now: Date) {
        self.generations.withLock { generations in
            generations.turn(now: now, halfLife: Self.halfLife)
            if generations.young.count >= Self.bound { generations.young.removeAll(keepingCapacity: true) }
            generations.young[key] = user
        }
    }

    func forgetAll() {
        self.generations.withLock { $0 = Generations(turnsAt: .distantPast) }
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

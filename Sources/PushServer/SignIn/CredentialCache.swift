internal import Cryptography
internal import Foundation
internal import PushCore
internal import PushStore
internal import SocketHTTP
internal import Synchronization

/// Caches for some minutes which credentials were right, so that a burst of fetches neither hashes
/// passwords nor looks up tokens.
///
/// All event loops share the cache. It is divided into shards with a lock each, so that two loops
/// seldom wait for each other. An entry stays for one to two half-lives, and no longer than its
/// token is valid. When a token ends or a user changes, the cache evicts the entries of that token
/// or user at once, and no others.
final class CredentialCache: Sendable {
    /// The key of an entry.
    struct Key: Sendable, Hashable {
        let credentials: Fingerprint
        /// The address from which a password was right. From any other address the password is
        /// checked again: no limiter protects the cache, so nobody may try passwords against it.
        /// `nil` for a token, which cannot be guessed.
        let origin: PeerAddress?
    }

    private static let shardCount = 16

    private static let halfLife: TimeInterval = 150
    private let shards = (0..<shardCount).map { _ in Shard() }
    /// Hashes credentials with a random key that has no other use, so that the memory contains no
    /// hash against which somebody could try passwords.
    private let code = KeyedHash(key: SymmetricKey(size: .bits256))

    /// The key of a name and a password from an address; valid for the lifetime of the process.
    func key(ofBasic field: String, from origin: PeerAddress?) -> Key {
        Key(credentials: Fingerprint(of: field[...], code: self.code), origin: origin)
    }

    /// The key of a token.
    func key(of token: Fingerprint) -> Key {
        Key(credentials: token, origin: nil)
    }

    func caller(for key: Key, now: Date) -> Caller? {
        self.shard(of: key.credentials).state.withLock { state in
            state.turn(now: now, halfLife: Self.halfLife)
            guard let entry = state.entries[key], entry.caller.isValid(at: now),
                !state.isForgotten(entry.caller, key, since: entry.epoch)
            else { return nil }
            return entry.caller
        }
    }

    /// The number of evictions so far in the key's shard, which `remember` needs. It must be read
    /// before the caller is read from the database.
    func epoch(of key: Key) -> Int {
        self.shard(of: key.credentials).state.withLock { $0.epoch }
    }

    /// Caches a caller, unless the user or the token was evicted after the eviction with the
    /// number `epoch`. In that case, the caller may have been read before the change that caused
    /// the eviction.
    func remember(_ caller: Caller, for key: Key, since epoch: Int, now: Date) {
        self.shard(of: key.credentials).state.withLock { state in
            guard !state.isForgotten(caller, key, since: epoch) else { return }
            state.turn(now: now, halfLife: Self.halfLife)
            state.entries[key] = ShardState.Entry(caller: caller, epoch: epoch)
        }
    }

    /// Evicts a token.
    func forget(_ token: Fingerprint) {
        self.shard(of: token).state.withLock { $0.forget(.token(token)) }
    }

    /// Evicts all credentials of a user.
    func forget(_ user: Username) {
        for shard in self.shards { shard.state.withLock { $0.forget(.user(user)) } }
    }

    /// Evicts credentials that another server has ended.
    func forget(_ ends: [CredentialLease.End]) {
        for end in ends {
            switch end {
            case .everything: for shard in self.shards { shard.state.withLock { $0.forgetAll() } }
            case .user(let id): for shard in self.shards { shard.state.withLock { $0.forget(.account(id)) } }
            case .token(let token, user: _): self.forget(token)
            }
        }
    }

    private func shard(of credentials: Fingerprint) -> Shard {
        self.shards[Int(truncatingIfNeeded: credentials.part % UInt64(Self.shardCount))]
    }
}

private final class Shard: Sendable {
    let state = Mutex(ShardState())
}

/// The entries of a shard, and the tokens and users that were evicted. An evicted token or user is
/// remembered as long as a caller that was read from the database before the eviction may still be
/// put into the cache.
private struct ShardState {
    enum Forgotten: Hashable {
        case user(Username)
        /// A user, by the user's number.
        case account(Int64)
        case token(Fingerprint)
    }

    struct Entry {
        let caller: Caller
        /// The shard's number of evictions when the caller was read from the database.
        let epoch: Int
    }

    /// The limit for one shard; all shards together have 400,000 entries. The newer half has room
    /// for twice as many phones as fetch in a burst, and its entries are evicted only because of
    /// their age.
    private static let maximumEntries = 25_000
    private static let maximumForgotten = 4096

    var entries = BoundedTable<CredentialCache.Key, Entry>(limit: Self.maximumEntries)
    /// For each evicted token or user, the number of its last eviction. This number is kept at
    /// least as long as cached entries that are older than the eviction.
    private var forgotten = BoundedTable<Forgotten, Int>(limit: Self.maximumForgotten * 2)
    private var turnsAt = Date.distantPast
    /// Callers that were read before the eviction with this number are not cached.
    private var floor = 0
    /// The number of evictions so far.
    private(set) var epoch = 0

    mutating func turn(now: Date, halfLife: TimeInterval) {
        guard now >= self.turnsAt else { return }
        // If no request came for a long time, the newer half of the entries is too old, too.
        let turns = now >= self.turnsAt + halfLife ? 2 : 1
        for _ in 0..<turns {
            self.entries.turn()
            self.forgotten.turn()
        }
        self.turnsAt = now + halfLife
    }

    mutating func forget(_ subject: Forgotten) {
        self.epoch += 1
        self.forgotten[subject] = self.epoch
        // If too many tokens and users were evicted one by one, all entries are evicted instead.
        if self.forgotten.count >= Self.maximumForgotten { self.forgetAll() }
    }

    mutating func forgetAll() {
        self.epoch += 1
        self.floor = self.epoch
        self.entries = BoundedTable(limit: Self.maximumEntries)
        self.forgotten = BoundedTable(limit: Self.maximumForgotten * 2)
    }

    func isForgotten(_ caller: Caller, _ key: CredentialCache.Key, since epoch: Int) -> Bool {
        if epoch < self.floor { return true }
        // This is a fast path for nearly every request, since evictions are rare.
        guard self.forgotten.count > 0 else { return false }
        return self.lastForgotten(.user(caller.user.name)) > epoch
            || self.lastForgotten(.account(caller.user.id)) > epoch
            || self.lastForgotten(.token(key.credentials)) > epoch
    }

    private func lastForgotten(_ subject: Forgotten) -> Int {
        self.forgotten[subject] ?? 0
    }
}

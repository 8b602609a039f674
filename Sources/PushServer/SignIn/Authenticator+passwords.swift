internal import Foundation
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP
internal import Synchronization

extension Authenticator {
    /// A hash for an unknown name that takes as long to check as some user's hash.
    ///
    /// Checking an unknown name may take the time of an old, weaker hash. The share of such names
    /// equals the share of users with such a hash. A name keeps its time until the hash of the
    /// user whose time it has is replaced. So neither a time nor its change reveals which names
    /// exist.
    func decoy(for name: Username, reader: any AccountReader) async throws -> PasswordHash {
        let number = Fingerprint(of: name.key[...], code: self.nameCode).withUnsafeBytes {
            $0.loadUnaligned(as: UInt64.self)
        }
        return .decoy(try await reader.password(chosenBy: number)?.parameters ?? self.parameters)
    }

    /// Rehashes a right password if its hash is weaker than new ones.
    func strengthen(
        _ hash: PasswordHash,
        of password: Secret<String>,
        for user: User,
        from origin: PeerAddress?
    ) async {
        let parameters = self.parameters
        guard hash.needsRehash(for: parameters) else { return }
        // Only the first sign-in of a burst rehashes: hashes for all of them would fill the queue,
        // and the next sign-in would find no place.
        guard self.strengthening.withLock({ $0.insert(user.id).inserted }) else { return }
        defer { self.strengthening.withLock { _ = $0.remove(user.id) } }
        // A failure here does not refuse the user, who showed the right password; the next sign-in
        // tries again.
        let requester = self.gate.requester(user.name, from: origin)
        let new = try? await self.pool.run(for: requester) {
            try? PasswordHash(of: password.exposed, parameters: parameters)
        }
        guard let new else { return }
        try? await self.store.rehashPassword(of: user, from: hash, to: new)
    }

    /// Hashes a password that a caller chose for a user, off the event loop. It waits in the queue
    /// like a sign-in of the caller.
    ///
    /// Throws `PasswordError` for an unacceptable password, and a `busy` problem if the queue is
    /// full.
    func hash(
        _ password: Secret<String>,
        chosenFor name: Username,
        by caller: Username,
        from origin: PeerAddress?
    ) async throws -> PasswordHash {
        let parameters = self.parameters
        return try await self.pool.run(for: self.gate.requester(caller, from: origin)) {
            Result { try PasswordHash(of: password.exposed, chosenFor: name, parameters: parameters) }
        }.get()
    }

    /// Changes the password of a user who shows the current one, and ends the user's sessions;
    /// `false` if the shown password is wrong.
    ///
    /// Throws `PasswordError` for an unacceptable password, `TryLater` after too many wrong ones,
    /// and an `unauthorized` problem if the user was changed meanwhile.
    func changePassword(
        of user: User,
        from current: Secret<String>,
        to new: Secret<String>,
        by record: AuditRecord,
        from origin: PeerAddress?,
        reader: any AccountReader
    ) async throws -> Bool {
        guard let hash = try await reader.password(of: user) else { throw Problem(.unauthorized) }
        let isRight = try await self.isRight(
            current,
            of: user.name,
            by: hash,
            maySignIn: true,
            from: origin,
            now: record.at
        )
        guard isRight else { return false }
        let newHash = try await self.hash(new, chosenFor: user.name, by: user.name, from: origin)
        guard try await self.store.changePassword(of: user, to: newHash, by: record, now: record.at) else {
            throw Problem(.unauthorized)
        }
        self.accountChanged(user.name)
        return true
    }

    /// Whether the password matches `hash`, and the user may sign in.
    ///
    /// Throws `TryLater` after too many wrong passwords, and a `busy` problem.
    func isRight(
        _ password: Secret<String>,
        of name: Username,
        by hash: PasswordHash,
        maySignIn: Bool,
        from origin: PeerAddress?,
        now: Date
    ) async throws -> Bool {
        do {
            return try await self.gate.isRight(
                password,
                of: name,
                by: hash,
                maySignIn: maySignIn,
                from: origin,
                now: now
            )
        } catch let error as TryLater where error.isGuessing {
            // A guesser at the owner's address must not find the password in the cache, where no
            // attempt is counted.
            self.cache.forget(name)
            throw error
        }
    }
}

internal import Foundation
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP
internal import Synchronization

extension Authenticator {
    /// A hash to check for an unknown name, so that the check takes as long as for some existing
    /// user.
    ///
    /// An unknown name is assigned to an existing user, whose hash sets how long the check takes.
    /// If some users have an old, weaker hash, the check is as short for the same share of unknown
    /// names. The time for an unknown name changes only when the assigned user gets a new hash.
    /// Therefore neither the time nor a change of the time reveals which names exist.
    func decoy(for name: Username, reader: any AccountReader) async throws -> PasswordHash {
        let number = Fingerprint(of: name.key[...], code: self.nameCode).withUnsafeBytes {
            $0.loadUnaligned(as: UInt64.self)
        }
        return .decoy(try await reader.password(chosenBy: number)?.parameters ?? self.parameters)
    }

    /// Replaces the hash of a password that was right, if the hash is weaker than new hashes are.
    func strengthen(
        _ hash: PasswordHash,
        of password: Secret<String>,
        for user: User,
        from origin: PeerAddress?
    ) async {
        let parameters = self.parameters
        guard hash.needsRehash(for: parameters) else { return }
        // If a user signs in many times at once, only the first sign-in computes the new hash. If
        // all of these sign-ins computed it, they would fill the queue of hashes, and further
        // sign-ins would be refused.
        guard self.strengthening.withLock({ $0.insert(user.id).inserted }) else { return }
        defer { self.strengthening.withLock { _ = $0.remove(user.id) } }
        // If the new hash cannot be computed or stored, the user is not refused, because the
        // password was right; the next sign-in tries again.
        let requester = self.gate.requester(user.name, from: origin)
        let new = try? await self.pool.run(for: requester) {
            try? PasswordHash(of: password.exposed, parameters: parameters)
        }
        guard let new else { return }
        try? await self.store.rehashPassword(of: user, from: hash, to: new)
    }

    /// Hashes a password that a caller has chosen for a user, off the event loop. The limits of
    /// the queue count the hash for the caller, not for the user.
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

    /// Changes the password of a user who shows the current password, and ends the user's
    /// sessions. Returns `false` if the shown password is wrong.
    ///
    /// Throws `PasswordError` for an unacceptable password, `TryLater` after too many wrong
    /// passwords, and an `unauthorized` problem if the user was changed meanwhile.
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
            number: user.passwordNumber,
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
        do {
            return try await self.gate.isRight(
                password,
                of: name,
                number: number,
                by: hash,
                maySignIn: maySignIn,
                from: origin,
                now: now
            )
        } catch let error as TryLater where error.isGuessing {
            // The user's entries are evicted from the cache, because lookups in the cache are not
            // counted: a guesser at the owner's address could find the password there.
            self.cache.forget(name)
            throw error
        }
    }
}

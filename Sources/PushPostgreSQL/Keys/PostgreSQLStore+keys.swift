package import Foundation
internal import PostgreSQL
package import PushCore
package import PushStore
internal import Synchronization

extension PostgreSQLStore {
    /// Without a signal, `keepKeys` checks for a waiting key after this time.
    private static let longestWait = Duration.seconds(60)

    package var keyWait: KeyWait? { self.keys.wait }

    package func replaceKeyring(
        _ keyring: Keyring,
        by actor: AuditRecord.Actor,
        now: Date
    ) async throws -> Bool {
        try await self.keys.changing {
            guard keyring != self.keys.keyring || self.keys.wait != nil || self.keys.lack != nil else { return false }
            let record =
                keyring == self.keys.keyring
                ? nil : AuditRecord(.changeKeys, of: "key \(keyring.sealing)", by: actor, at: now)
            try await self.use(keyring, record, at: now)
            return true
        }
    }

    /// While the keyring's first key waits for other servers, checks whether they have it, and
    /// then encrypts with it.
    func keepKeys() async {
        await withTaskCancellationHandler {
            while !Task.isCancelled {
                guard self.keys.wait != nil || self.keys.isUnreported else {
                    await self.keys.signal.wait(atMost: Self.longestWait)
                    continue
                }
                // Cancellation of the task ends the sleep early; then the loop's condition ends
                // the loop.
                try? await Task.sleep(for: ServerMembership.renewalInterval)
                // The next round retries what fails.
                try? await self.settleKeys()
            }
        } onCancel: {
            self.keys.signal.set()
        }
    }

    /// Encrypts with the keyring's first key, if this key has waited for other servers and all of
    /// them have it now.
    func settleKeys() async throws {
        guard self.options.mayExchange() else { return }
        try await self.keys.changing {
            if self.keys.isUnreported { try await self.reportSealing() }
            guard let wait = self.keys.wait else { return }
            let agreement = try KeyAgreement(await self.read(KeyAgreement.all))
            let choice = agreement.choice(self.keys.keyring, besides: self.membership.number)
            if choice.wait == wait { return }
            try await self.use(self.keys.keyring, nil, at: self.options.now())
        }
    }

    package func writeSealCounts() async throws {
        let seals = self.sealing.vault.takeSeals().sorted { $0.key < $1.key }
        guard !seals.isEmpty else { return }
        do {
            try await self.write { tx in
                _ = try await tx.query(
                    """
                    update data_key d set seals = d.seals + s.seals
                    from unnest($1::int8[], $2::int8[]) as s (number, seals) where d.number = s.number
                    """,
                    seals.map { Int64($0.key) },
                    seals.map(\.value)
                )
            }
        } catch {
            self.sealing.vault.giveBack(Dictionary(uniqueKeysWithValues: seals.map { ($0.key, $0.value) }))
            throw error
        }
    }

    // MARK: - Private

    /// Publishes the keyring's keys to the other servers, and encrypts with the first key that all
    /// have.
    ///
    /// Every transaction that joins, publishes keys or changes the encrypting key locks the row of
    /// `schema_state`. So what this transaction reads about the other servers under the lock stays
    /// true until the commit.
    private func use(_ keyring: Keyring, _ record: AuditRecord?, at date: Date) async throws {
        let current = try KeyAgreement(await self.read(KeyAgreement.all))
        try current.check(keyring)
        // The replacement is counted before anything changes. So a pass of `rewrap` that ends
        // meanwhile does not delete a key that is in use again.
        self.exchanges.wrappingAdd(1, ordering: .relaxed)
        let (vault, server, held) = (self.sealing.vault, self.membership.number, self.keys.held(keyring))
        let (before, wasSealing) = (vault.keyring, vault.isSealing)
        // If this server lacked a key before, it had stopped encrypting. It starts again with a
        // key in use, which all servers have.
        let interim = wasSealing ? before.sealing : current.used.last?.number ?? keyring.sealing
        // Other servers may encrypt with any of these keys as soon as they see that this server
        // has them.
        if let opening = keyring.joined(with: before).sealing(with: interim), opening != before || !wasSealing {
            vault.replaceKeyring(opening)
        }
        let choice: (sealing: UInt32, wait: KeyWait?)
        do {
            choice = try await self.write { tx in
                _ = try await tx.query(Schema.schemaLock)
                let agreement = try KeyAgreement(await tx.query(KeyAgreement.all))
                try agreement.check(keyring)
                let choice = agreement.choice(keyring, besides: server)
                try await DataKeyEntry.record(choice.sealing, of: keyring, now: date, tx)
                _ = try await tx.query("update node set keys = $2 where number = $1 and not is_fenced", server, held)
                if let record { tx.append(record) }
                return choice
            }
        } catch {
            // If the commit may have happened, other servers may rely on this server to decrypt
            // values under the new keys.
            // under the new keys.
            if case StoreError.unknownOutcome = error { throw error }
            if vault.keyring != before || !wasSealing { vault.replaceKeyring(before, isSealing: wasSealing) }
            throw error
        }
        self.keys.use(keyring, sealing: choice.sealing, choice.wait)
        // If this fails, the previous key stays in use until `keepKeys` succeeds.
        if self.keys.isUnreported { try? await self.reportSealing() } else { self.keys.recordReported() }
    }

    /// Publishes which key encrypts. This must come after the switch, so that no server deletes
    /// the old key while this server may encrypt with it. Until then the new key counts as in use
    /// because it is the first of the keyring.
    private func reportSealing() async throws {
        let (server, sealing) = (self.membership.number, Int64(self.sealing.vault.keyring.sealing))
        try await self.write { tx in
            _ = try await tx.query("update node set sealing = $2 where number = $1", server, sealing)
        }
        self.keys.recordReported()
    }
}

extension PostgreSQLReader {
    package func countSealed() async throws(StoreError) -> Int {
        try await self.read(Self.sealed) { rows in Int(clamping: try rows.first?.integer(0) ?? 0) }
    }

    private static let sealed =
        "select "
        + SealedColumn.all(usersIn: "account").map { "(select count(*) from \($0.table))" }.joined(separator: " + ")
}

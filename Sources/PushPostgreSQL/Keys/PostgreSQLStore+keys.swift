package import Foundation
internal import PostgreSQL
package import PushCore
package import PushStore
internal import Synchronization

extension PostgreSQLStore {
    package var keyWait: KeyWait? { self.keys.wait }

    package func replaceKeyring(_ keyring: Keyring, by actor: AuditRecord.Actor, now: Date) async throws -> Bool {
        try await self.keys.changing {
            guard keyring != self.keys.keyring || self.keys.wait != nil || self.keys.lack != nil else { return false }
            let record = keyring == self.keys.keyring ? nil : AuditRecord(replacementBy: keyring, by: actor, at: now)
            try await self.use(keyring, record, at: now)
            return true
        }
    }

    /// Switches to the keyring's first key as soon as all servers have it. Until then, checks at
    /// intervals whether they have it.
    func keepKeys() async {
        await self.repeating(self.keys.signal, pause: .zero) {
            guard self.keys.wait != nil || self.keys.isUnreported else {
                return await self.keys.signal.wait(atMost: Self.longestWait)
            }
            try await Task.sleep(for: ServerMembership.renewalInterval)
            try await self.settleKeys()
        }
    }

    /// If the keyring's first key waits for other servers, and all of them now have it, encrypts
    /// with it from now on.
    func settleKeys() async throws {
        guard self.options.cluster.mayExchange() else { return }
        try await self.keys.changing {
            if self.keys.isUnreported { try await self.reportSealing() }
            guard let wait = self.keys.wait else { return }
            let agreement = try KeyAgreement(await self.read(KeyAgreement.all))
            let choice = agreement.choice(self.keys.keyring, besides: self.membership.number)
            if choice.wait == wait { return }
            try await self.use(self.keys.keyring, nil, at: self.options.now())
        }
    }

    package func addSeals(_ seals: [UInt32: Int]) async throws {
        let seals = seals.sorted { $0.key < $1.key }
        try await self.write { tx in
            _ = try await tx.query(Self.addSeals, seals.map { Int64($0.key) }, seals.map(\.value))
        }
    }

    // MARK: - Private

    private static let addSeals = """
        update data_key d set seals = d.seals + s.seals
        from unnest($1::int8[], $2::int8[]) as s (number, seals) where d.number = s.number
        """

    /// Publishes the keyring's keys to the other servers. Then encrypts with the keyring's first
    /// key that all servers have.
    ///
    /// A transaction must lock the row of `schema_state` if it registers a server, publishes keys
    /// or changes the encrypting key. So what this transaction reads about the other servers under
    /// the lock stays true until the commit.
    private func use(_ keyring: Keyring, _ record: AuditRecord?, at date: Date) async throws {
        let current = try KeyAgreement(await self.read(KeyAgreement.all))
        try current.check(keyring)
        // The number of the keyring's replacements rises before anything else changes. A pass of
        // `rewrap` that ends meanwhile then notices the replacement, and does not delete a key
        // that is in use again.
        self.exchanges.wrappingAdd(1, ordering: .relaxed)
        let (vault, server, held) = (self.sealing.vault, self.membership.number, self.keys.held(keyring))
        let (before, wasSealing) = (vault.keyring, vault.isSealing)
        // A server that lacked a key in use has stopped encrypting. Here it starts again with a
        // key in use, since all servers have every such key.
        let interim = wasSealing ? before.sealing : current.used.last?.number ?? keyring.sealing
        // As soon as the other servers see that this server has these keys, they may encrypt with
        // any of them. So this server must already be able to decrypt with all of them.
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
                if let checkValue = keyring.checkValue(of: choice.sealing) {
                    _ = try await tx.query(DataKeyEntry.adding, Int64(choice.sealing), checkValue, date.milliseconds)
                    try DataKeyEntry.entries(await tx.query(DataKeyEntry.all)).check(keyring)
                }
                _ = try await tx.query("update node set keys = $2 where number = $1 and not is_fenced", server, held)
                if let record { tx.append(record) }
                return choice
            }
        } catch {
            // If the commit may have succeeded, the new keyring stays. Other servers may then rely
            // on this server to decrypt values under the new keys.
            if case StoreError.unknownOutcome = error { throw error }
            if vault.keyring != before || !wasSealing { vault.replaceKeyring(before, isSealing: wasSealing) }
            throw error
        }
        self.keys.use(keyring, sealing: choice.sealing, choice.wait)
        // If `reportSealing` fails, the previous key counts as in use until `keepKeys` succeeds.
        if self.keys.isUnreported { try? await self.reportSealing() } else { self.keys.recordReported() }
    }

    /// Publishes this server's encrypting key. This must come after the switch to that key, so
    /// that no server deletes the old key while this server may encrypt with it. The new key
    /// counts as in use even before it is published, because it is the first key of the keyring.
    private func reportSealing() async throws {
        let (server, sealing) = (self.membership.number, Int64(self.sealing.vault.keyring.sealing))
        try await self.write { tx in
            _ = try await tx.query("update node set sealing = $2 where number = $1", server, sealing)
        }
        self.keys.recordReported()
    }

    package func countSealed() async throws(StoreError) -> Int {
        try await self.read(Self.sealed) { rows in Int(clamping: try rows.first?.integer() ?? 0) }
    }

    private static let sealed =
        "select "
        + SealedColumn.all.map { "(select count(*) from \($0.table))" }.joined(separator: " + ")

    package func rewrap(page: Int?, passed: @Sendable (Int) async throws -> Void) async throws -> RewrapResult? {
        let (vault, page) = (self.sealing.vault, max(1, page ?? SealedColumn.rewrapPage))
        let exchange = self.exchanges.load(ordering: .relaxed)
        let used = try DataKeyEntry.entries(await self.read(DataKeyEntry.all)).map(\.number)
        // This server may still wait to switch to a key that other servers already use. The pass
        // of `rewrap` over the values must not re-encrypt values from the new key to the old key.
        if let wait = self.keys.wait, used.contains(wait.number) { return nil }
        let others = used.filter { $0 != vault.keyring.sealing }
        guard !others.isEmpty else { return nil }
        let columns = SealedColumn.all
        var result = try await RewrapResult(columns, page: page, passed: passed) { column, last in
            try await self.write { try await column.rewrap($0, vault, after: last, limit: page) }
        }
        guard result.unreadable == 0 else { return result }
        result.unused = try await self.write { tx in
            // While this lock is held, no other server begins to encrypt with one of these keys.
            _ = try await tx.query(Schema.schemaLock)
            // If the keyring was replaced during this pass of `rewrap`, this pass deletes no keys;
            // the pass for the new keyring deletes them.
            guard self.exchanges.load(ordering: .relaxed) == exchange else { return [] }
            // A key remains in use as long as another server encrypts with it.
            let needed = try KeyAgreement(await tx.query(KeyAgreement.all)).needed
            let unused = others.filter { !needed.contains($0) }.map { Int64($0) }
            let deleted = try await tx.query(Self.deleteUnusedKeys, unused)
            return try deleted.compactMap { UInt32(exactly: try $0.integer()) }.sorted()
        }
        return result
    }

    static let deleteUnusedKeys = "delete from data_key where number = any($1::int8[]) returning number"
}

extension DataKeyEntry {
    /// Inserts a key: its number, its check value, and the time of its first use.
    static let adding = """
        insert into data_key (number, check_value, used_at) values ($1, $2, $3) on conflict (number) do nothing
        """

    static func entries(_ rows: Rows) throws -> [DataKeyEntry] { try rows.compactMap { try DataKeyEntry($0) } }

    /// Marks a key of the keyring as in use. This must be committed before any value is encrypted
    /// with the key.
    ///
    /// Throws `StoreError.wrongKeyring` if the keyring lacks a key that is in use. The caller must
    /// then roll the transaction back.
    static func record(_ number: UInt32, of keyring: Keyring, now: Date, _ connection: BlockingConnection) throws {
        guard let checkValue = keyring.checkValue(of: number) else { return }
        _ = try connection.query(Self.adding, Int64(number), checkValue, now.milliseconds)
        try Self.entries(connection.query(Self.all)).check(keyring)
    }
}

extension SealedColumn {
    /// Counts the values that are encrypted with a key. Such a value begins with the byte of the
    /// format and the key's number.
    var counting: String {
        "select count(*) from \(self.table) where substr(\(self.column), 1, \(Vault.keyNumber.upperBound)) = $1"
    }

    /// Re-encrypts those values of the next rows that are not encrypted with the keyring's first
    /// key. Locks these rows until the commit.
    func rewrap(_ tx: WriteTransaction, _ vault: Vault, after row: Int64, limit: Int) async throws -> Page {
        let last = try await tx.query(
            "select \(self.key) from \(self.table) where \(self.key) > $1 order by \(self.key) limit 1 offset $2",
            row,
            limit - 1
        ).first?.integer()
        let format = Data([Vault.format])
        let number = withUnsafeBytes(of: vault.keyring.sealing.bigEndian) { format + Data($0) }
        let rows = try await tx.query(
            """
            select \(self.key) as number, \(self.column) as value, \(self.bound)::int8 as bound from \(self.table)
            where \(self.key) > $1 and \(self.key) <= $2 and \(self.column) is not null
                and substr(\(self.column), 1, \(Vault.keyNumber.upperBound)) <> $3
                and substr(\(self.column), 1, 1) = $4
            order by \(self.key) for no key update
            """,
            row,
            last ?? .max,
            number,
            format
        )
        var renewed: [(number: Int64, value: Data)] = []
        var unreadable = 0
        for row in rows {
            let number = try row.integer("number")
            guard let place = self.place(number, try row.integer("bound")) else { continue }
            do {
                guard let value = try vault.renewed(try row.data("value"), in: place) else { continue }
                renewed.append((number, value))
            } catch is VaultError {
                // The result counts this unreadable value, so that an operator learns of it. Its
                // key stays in use, because the value may be repaired from a backup.
                unreadable += 1
            }
        }
        if !renewed.isEmpty {
            _ = try await tx.query(
                """
                update \(self.table) t set \(self.column) = u.value
                from unnest($1::int8[], $2::bytea[]) as u (number, value) where t.\(self.key) = u.number
                """,
                renewed.map(\.number),
                renewed.map(\.value)
            )
        }
        return (last, renewed.count, unreadable)
    }
}

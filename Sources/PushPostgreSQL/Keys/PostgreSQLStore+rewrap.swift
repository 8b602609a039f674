internal import Foundation
internal import PostgreSQL
internal import PushCore
package import PushStore
internal import Synchronization

extension PostgreSQLStore {
    package func rewrap(page: Int?, passed: @Sendable (Int) async throws -> Void) async throws -> RewrapResult? {
        let (vault, page) = (self.sealing.vault, max(1, page ?? SealedColumn.rewrapPage))
        let exchange = self.exchanges.load(ordering: .relaxed)
        let used = try DataKeyEntry.entries(await self.read(DataKeyEntry.all)).map(\.number)
        // This server may still wait to switch to a key that other servers already use. The pass
        // of `rewrap` over the values must not re-encrypt values from the new key to the old key.
        if let wait = self.keys.wait, used.contains(wait.number) { return nil }
        let others = used.filter { $0 != vault.keyring.sealing }
        guard !others.isEmpty else { return nil }
        let columns = SealedColumn.all(usersIn: "account")
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
            return try deleted.compactMap { UInt32(exactly: try $0.integer(0)) }.sorted()
        }
        return result
    }

    static let deleteUnusedKeys = "delete from data_key where number = any($1::int8[]) returning number"
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
        ).first?.integer(0)
        let format = Data([Vault.format])
        let number = withUnsafeBytes(of: vault.keyring.sealing.bigEndian) { format + Data($0) }
        let rows = try await tx.query(
            """
            select \(self.key), \(self.column), \(self.bound)::int8 from \(self.table)
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
            let number = try row.integer(0)
            guard let place = self.place(number, try row.integer(2)) else { continue }
            do {
                guard let value = try vault.renewed(try row.data(1), in: place) else { continue }
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
        return Page(last: last, renewed: renewed.count, unreadable: unreadable)
    }
}

package import Foundation
internal import PostgreSQL
package import PushCore
internal import PushStore
internal import Synchronization

extension PostgreSQLStore {
    /// Other processes need the new keyring before this one seals with its first key.
    package func exchange(
        _ keyring: Keyring,
        by actor: AuditRecord.Actor,
        now: Date
    ) async throws -> Bool {
        guard keyring != self.sealing.vault.keyring else { return false }
        // Counted first, so that a pass of `rewrap` that ends meanwhile deletes no key that is in use again.
        self.exchanges.wrappingAdd(1, ordering: .relaxed)
        let record = AuditRecord(.changeKeys, of: "key \(keyring.sealing)", by: actor, at: now)
        let node = self.node.number
        try await self.write { tx in
            try await DataKeyEntry.note(keyring, now: now, tx)
            _ = try await tx.query(
                "update node set sealing = $2 where number = $1",
                node,
                Int64(keyring.sealing)
            )
            tx.append(record)
        }
        self.sealing.vault.exchange(keyring)
        return true
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
}

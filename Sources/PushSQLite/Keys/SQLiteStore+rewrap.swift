internal import Foundation
internal import PushCore
package import PushStore
internal import SQLite
internal import Synchronization

extension SQLiteStore {
    package func rewrap(
        page: Int?,
        passed: @Sendable (Int) async throws -> Void
    ) async throws -> RewrapResult? {
        let (vault, page) = (self.sealing.vault, page ?? SealedColumn.rewrapPage)
        let exchange = self.exchanges.load(ordering: .relaxed)
        let others = try await self.writer.write(.housekeeping) { db in
            try DataKeyEntry.fetchAll(db).map(\.number).filter { $0 != vault.keyring.sealing }
        }
        guard !others.isEmpty else { return nil }
        var result = try await RewrapResult(SealedColumn.all, page: page, passed: passed) { column, last in
            try await self.writer.write(.housekeeping) { [writer] db in
                let done = try column.rewrap(db, vault, after: last, limit: page)
                if done.renewed > 0 { writer.recordErasure() }
                return done
            }
        }
        guard result.unreadable == 0 else { return result }
        result.unused = try await self.writer.write(.housekeeping) { db in
            // If the keyring was replaced meanwhile, the pass for the new keyring decides which
            // keys are unused.
            guard self.exchanges.load(ordering: .relaxed) == exchange else { return [] }
            for number in others {
                try db.run("delete from data_key where number = \(Int64(number))")
            }
            return others
        }
        return result
    }
}

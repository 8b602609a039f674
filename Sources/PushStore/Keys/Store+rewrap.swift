internal import Foundation
internal import GRDB
internal import PushCore
internal import Synchronization

extension Store {
    /// How a pass over all that is sealed ended.
    package struct Rewrapped: Sendable, Hashable {
        package var renewed = 0
        /// Values that do not open; their keys stay in use.
        package var unreadable = 0
        /// The keys that nothing is sealed with any more.
        package var unused: [UInt32] = []

        package init() {}
    }

    /// Seals anew, page by page, all that is not sealed with the first key; `nil` if there is nothing else.
    ///
    /// May end at any moment and begin anew. Whatever is sealed while it runs is sealed with the first key, also behind it.
    package func rewrap(page: Int = 200) async throws -> Rewrapped? {
        let vault = self.sealing.vault
        let exchange = self.exchanges.load(ordering: .relaxed)
        let others = try await self.writer.write(.housekeeping) { db in
            try DataKeyEntry.fetchAll(db).map(\.number).filter { $0 != vault.keyring.sealing }
        }
        guard !others.isEmpty else { return nil }
        var result = Rewrapped()
        for column in SealedColumn.all {
            var row: Int64? = .min
            while let last = row {
                try Task.checkCancellation()
                let done = try await self.writer.write(.housekeeping) { [writer] db in
                    let done = try column.rewrap(db, vault, after: last, limit: page)
                    if done.renewed > 0 { writer.noteErasure() }
                    return done
                }
                result.renewed += done.renewed
                result.unreadable += done.unreadable
                row = done.last
            }
        }
        guard result.unreadable == 0 else { return result }
        result.unused = try await self.writer.write(.housekeeping) { db in
            // Another keyring has come meanwhile: its own pass will say.
            guard self.exchanges.load(ordering: .relaxed) == exchange else { return [] }
            for number in others {
                try db.execute(sql: "delete from data_key where number = ?", arguments: [Int64(number)])
            }
            return others
        }
        return result
    }
}

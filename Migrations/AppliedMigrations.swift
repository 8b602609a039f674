package import Foundation

/// The migrations that a database has had, with the hashes of their SQL.
package struct AppliedMigrations {
    /// The hash of each, by its name.
    package let hashes: [String: Data]

    package init(hashes: [String: Data]) {
        self.hashes = hashes
    }

    /// The last applied migration that is not known.
    package func unknown(_ known: [Migration]) -> String? {
        Set(self.hashes.keys).subtracting(known.map(\.name)).max()
    }

    /// The first migration whose SQL has changed since it was applied.
    package func changed(_ known: [Migration]) -> String? {
        known.first { migration in self.hashes[migration.name].map { $0 != migration.hash } ?? false }?.name
    }

    /// The migrations that were not applied yet.
    package func missing(_ known: [Migration]) -> [String] {
        known.map(\.name).filter { self.hashes[$0] == nil }
    }
}

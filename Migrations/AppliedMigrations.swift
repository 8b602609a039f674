package import Foundation

/// The migrations that a database has had, with the hashes of their SQL.
package struct AppliedMigrations {
    /// The hash of each, by its name.
    package let hashes: [String: Data]
    /// `Migration.oldestKnown` of each, by its name; a program must know a migration without a
    /// value.
    private let oldestKnown: [String: String]

    package init(hashes: [String: Data], oldestKnown: [String: String] = [:]) {
        self.hashes = hashes
        self.oldestKnown = oldestKnown
    }

    /// The last applied migration that a program must know to use the database, and that is not
    /// among the known ones.
    ///
    /// Its name may come before known names, because a development version may have made it.
    package func unknown(_ known: [Migration]) -> String? {
        let newest = known.map(\.name).max() ?? ""
        return Set(self.hashes.keys).subtracting(known.map(\.name))
            .filter { name in self.oldestKnown[name].map { $0 > newest } ?? true }
            .max()
    }

    /// The first migration whose SQL has changed since it was applied.
    package func changed(_ known: [Migration]) -> String? {
        known.first { migration in self.hashes[migration.name].map { $0 != migration.hash } ?? false }?.name
    }

    /// The known migrations that were not applied yet.
    package func missing(_ known: [Migration]) -> [String] {
        known.map(\.name).filter { self.hashes[$0] == nil }
    }
}

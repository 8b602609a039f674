package import Foundation

/// The migrations that a database has had, with the hashes of their SQL.
package struct AppliedMigrations {
    /// The hash of each, by its name.
    package let hashes: [String: Data]
    /// `Migration.oldestKnown` of each, by its name; one that is not here must be known itself.
    private let oldestKnown: [String: String]

    package init(hashes: [String: Data], oldestKnown: [String: String] = [:]) {
        self.hashes = hashes
        self.oldestKnown = oldestKnown
    }

    /// The last applied migration that is not known, and that does not bear programs which know only these.
    ///
    /// The order of names says nothing: what is not known may also come from a version that was never released.
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

    /// The migrations that were not applied yet.
    package func missing(_ known: [Migration]) -> [String] {
        known.map(\.name).filter { self.hashes[$0] == nil }
    }
}

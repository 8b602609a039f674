/// Why the store cannot be opened, or did not do its work. Nothing of it was done.
package enum StoreError: Error, CustomStringConvertible {
    /// Another process holds the store. `place` says which in words, such as a path.
    case inUse(place: String)
    /// The database was written by a later version.
    case tooNew(migration: String)
    /// A migration that the database has had is another one in this program.
    case changedMigration(String)
    /// The database is sealed with another key than the keyring has.
    case wrongKeyring(reason: String)
    /// The disk is full; nothing is stored until there is room.
    case full
    /// More writes are waiting than the store takes on.
    case busy
    /// The disk failed at a moment after which nothing can be promised any more; only a restart helps.
    case broken(reason: String)
    case cannotOpen(place: String, reason: String)
    case failed(reason: String)
    /// A row is not as it was written: the disk has changed it, or somebody has.
    case damaged(row: String)

    package var description: String {
        switch self {
        case .inUse(let place): "the database \(place) is in use by another process; stop that process first"
        case .tooNew(let migration):
            "the database was written by a later version with the migration \(migration); use that version"
        case .changedMigration(let migration):
            "the database was made with another migration \(migration) than this version has: use the version that made it"
        case .wrongKeyring(let reason): "the keyring does not match the database: \(reason)"
        case .full: "the disk is full"
        case .busy: "the write queue is full"
        case .broken(let reason): "the database failed; restart the server: \(reason)"
        case .cannotOpen(let place, let reason): "cannot open \(place): \(reason)"
        case .damaged(let row): "the database is damaged: \(row) cannot be decoded; run sealpost doctor"
        case .failed(let reason): "the database failed: \(reason)"
        }
    }
}

extension StoreError {
    /// Whether only another configuration helps, and starting again does not.
    package var isConfiguration: Bool { if case .wrongKeyring = self { true } else { false } }
}

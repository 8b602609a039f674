/// The reason why the store cannot be opened, or why an operation failed; a failed operation has
/// changed nothing, unless the error says so.
package enum StoreError: Error, CustomStringConvertible {
    /// Another process holds the store; `place` names the store, for example by its path.
    case inUse(place: String)
    /// The database was written by a later version.
    case tooNew(migration: String)
    /// The migration would break these servers of an older version, which use the database now.
    case olderServers(String, migration: String)
    /// A migration that was applied to the database differs from this program's migration.
    case changedMigration(String)
    /// All data was moved to another database, which also has the data stored since.
    case moved(place: String, to: String)
    /// The database is encrypted with a key that is missing from the keyring, or is a different
    /// key there.
    case wrongKeyring(reason: String)
    /// The day keys are missing, or are not the ones that encrypt the database's payloads.
    case wrongDayKeys(reason: String)
    /// The only database that accepts writes lacks data that was stored before, so the store left
    /// it unchanged. Anybody may see the summary; `kept` is the place where the server keeps the
    /// mark of the database that it used before.
    case refused(summary: String, reason: String, kept: String)
    /// The disk is full; writes fail until there is room.
    case full
    /// More writes or reads wait than the store accepts.
    case busy
    /// The disk failed in a way after which the store can guarantee nothing; only a restart helps.
    case broken(reason: String)
    /// No database server can be reached, or none accepts writes; nothing is stored.
    case unavailable(reason: String)
    /// The connection to the database's server was lost during the commit: the work may be stored,
    /// or not.
    case unknownOutcome(reason: String)
    case cannotOpen(place: String, reason: String)
    /// The database's server, or its pooler or role, is set up in a way that the store must not
    /// use; an operator must change that.
    case unusable(place: String, reason: String)
    case failed(reason: String)
    /// A row differs from the row that was written: the disk or a person has changed it.
    case damaged(row: String)

    package var description: String {
        switch self {
        case .inUse(let place): "the database \(place) is in use by another process; stop that process first"
        case .tooNew(let migration):
            "the database was written by a later version with the migration \(migration); use that version"
        case .olderServers(let names, let migration):
            "servers of an older version use the database, and the migration \(migration) would break them; stop them first: "
                + names
        case .changedMigration(let migration):
            "the database has another migration \(migration) than this version; use the version that wrote it"
        case .moved(let place, let other):
            "the database \(place) was moved to \(other): set `database` to that address, or see docs/operate/postgresql.md"
        case .wrongKeyring(let reason): "the keyring does not match the database: \(reason)"
        case .wrongDayKeys(let reason): "the day keys do not match the database: \(reason)"
        case .refused(_, let reason, let place):
            """
            the database is refused, because acknowledged notifications may be missing in it: \(reason); bring the newest primary \
            back, or accept the loss: remove \(place) on all servers and restart them
            """
        case .full: "the disk is full"
        case .busy: "the write queue is full"
        case .broken(let reason): "the database failed; restart the server: \(reason)"
        case .unavailable(let reason): "the database is unavailable: \(reason)"
        case .unknownOutcome(let reason): "the database may or may not have stored the work: \(reason)"
        case .cannotOpen(let place, let reason): "cannot open \(place): \(reason)"
        case .unusable(let place, let reason): "cannot use \(place): \(reason)"
        case .damaged(let row): "the database is damaged: \(row) cannot be decoded; run sealpost doctor"
        case .failed(let reason): "the database failed: \(reason)"
        }
    }
}

extension StoreError {
    package static let closedReason = "the database is closed"

    /// A value of a row has another type than its column.
    package static var undecodable: StoreError { .failed(reason: "a row cannot be decoded") }

    /// The schema differs from that of the migrations; names the first of the differences.
    package static func changedSchema(_ differences: [String]) -> StoreError {
        .failed(
            reason: """
                the schema differs from that of the migrations, so somebody has changed it: \
                \(differences.prefix(5).joined(separator: "; "))
                """
        )
    }

    /// Whether a restart does not help, but only another configuration or another version of the
    /// program.
    package var isConfiguration: Bool {
        switch self {
        case .tooNew, .changedMigration, .wrongKeyring, .wrongDayKeys, .moved, .unusable: true
        default: false
        }
    }
}

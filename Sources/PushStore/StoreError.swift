/// The reason why a store cannot be opened, or why an operation has failed. A failed operation has
/// changed nothing, unless the error's comment says something else.
package enum StoreError: Error, CustomStringConvertible {
    /// Another process holds the store; `place` names the store, for example by its path.
    case inUse(place: String, process: Int? = nil)
    /// The database was written by a newer version.
    case tooNew(migration: String)
    /// The migration would break these servers of an older version, which are using the database.
    case olderServers(String, migration: String)
    /// A migration in the database differs from this program's migration with the same name.
    case changedMigration(String)
    /// All data was moved to another database, which also has the data that was stored since then.
    case moved(place: String, to: String)
    /// The database is encrypted with a key that the keyring lacks. Or the keyring has another key
    /// under the same number.
    case wrongKeyring(reason: String)
    /// The day keys are missing, or they are not the keys that encrypt the database's payloads.
    case wrongDayKeys(reason: String)
    /// The database is empty or missing. The file `mark` may be there because a server has used
    /// the database. Without the files `marks`, the database counts as new.
    case lost(_ fault: String, mark: String, marks: String)
    /// The only database server that accepts writes lacks data that was stored before, so the
    /// store has changed nothing there. The summary is public. `kept` is the place of the
    /// file that identifies the database that this server used before.
    case refused(summary: String, reason: String, kept: String)
    /// The disk is full. Writes that need more space fail until the disk has it.
    case full
    /// More writes or reads wait than the store allows.
    case busy
    /// The disk has failed, and the store can guarantee nothing until the process restarts.
    case broken(reason: String)
    /// No database server can be reached, or no server accepts writes. Or another program has
    /// locked the database's file. Nothing is stored.
    case unavailable(reason: String)
    /// The connection to the database server was lost during the commit. The changes may or may
    /// not be stored.
    case unknownOutcome(reason: String)
    case cannotOpen(place: String, reason: String)
    /// The store must not use the database server, its pooler or its role as they are configured.
    /// Or the database's file is damaged, or its schema was changed. An operator must act.
    case unusable(place: String = "the database", reason: String)
    case failed(reason: String)
    /// SQLite has found damaged pages in the database's file, perhaps after it has opened the
    /// file.
    case damagedFile(reason: String)
    /// A row is not as the store has written it: the disk or a person has changed it.
    case damaged(row: String)

    package var description: String {
        switch self {
        case .inUse(let place, let process):
            "the database \(place) is in use by another process\(process.map { " (\($0))" } ?? ""); stop that process first"
        case .tooNew(let migration):
            "the database was written by a newer version, with the migration \(migration); use that version"
        case .olderServers(let names, let migration):
            "servers of an older version use the database, and the migration \(migration) would break them; stop them first: "
                + names
        case .changedMigration(let migration):
            "the database has another migration \(migration) than this version; use the version that wrote it"
        case .moved(let place, let other):
            "the database \(place) was moved to \(other): set `database` to that address, or see docs/operate/postgresql.md"
        case .wrongKeyring(let reason): "the keyring does not match the database: \(reason)"
        case .wrongDayKeys(let reason): "the day keys do not match the database: \(reason)"
        case .lost(let fault, let mark, let marks):
            """
            \(fault), but \(mark) exists, so a server may have used the database: restore a backup; or, to begin with an empty \
            database, remove \(marks)
            """
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
        case .damagedFile(let reason):
            "the database's file is damaged: \(reason); stop the server and restore an intact backup"
        case .damaged(let row): "the database is damaged: \(row) cannot be decoded; run sealpost doctor"
        case .failed(let reason): "the database failed: \(reason)"
        }
    }
}

extension StoreError {
    package static let closedReason = "the database is closed"

    /// The error for a value whose type differs from that of its column.
    package static var undecodable: StoreError { .failed(reason: "a row cannot be decoded") }

    /// The error for a schema that differs from that of the migrations. It lists the first
    /// differences. The parameters describe tables and other objects of the schema.
    package static func changedSchema(changed: [String] = [], added: [String], missing: [String]) -> StoreError {
        let differences =
            changed.map { "changed: \($0)" } + added.map { "not of a migration: \($0)" }
            + missing.map { "missing: \($0)" }
        return .unusable(
            reason: """
                the schema differs from that of the migrations, so somebody has changed it: \
                \(differences.prefix(5).joined(separator: "; "))
                """
        )
    }

    /// Whether the error would persist after a restart. Only another configuration, another
    /// version of the program, or another database can remove its cause.
    package var isConfiguration: Bool {
        switch self {
        case .tooNew, .changedMigration, .wrongKeyring, .wrongDayKeys, .lost, .moved, .unusable, .damagedFile: true
        default: false
        }
    }
}

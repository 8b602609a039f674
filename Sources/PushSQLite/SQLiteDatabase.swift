package import Foundation
internal import Glibc
internal import Migrations
package import PushCore
package import PushStore
internal import SQLite

/// A database file on this machine, with its log next to it.
package struct SQLiteDatabase: StorePlace {
    package let path: String

    package init(path: String) { self.path = path }

    package var description: String { self.path }

    package var fault: String? {
        if Self.isOtherThanFile(self.path) { return "\(self.path) is not a regular file; name a file" }
        guard let system = NetworkFileSystem(of: self.path) else { return nil }
        return "\(self.path) is on a network file system (\(system.type)), where two servers could destroy it; "
            + "move it to a local disk, or use PostgreSQL"
    }

    /// Whether the path has something other than a regular file. At a FIFO, SQLite would wait
    /// until another process opens it.
    fileprivate static func isOtherThanFile(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFREG
    }

    package func isMade() -> Bool {
        var status = stat()
        return stat(self.path, &status) == 0 || ![ENOENT, ENOTDIR].contains(errno)
    }

    /// Whether the file exists and has no content: a store never leaves such a file.
    package var isEmpty: Bool {
        var status = stat()
        return stat(self.path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_size == 0
    }

    /// Whether the database, which may be of an earlier version, has any user.
    package func hasUsers() throws(StoreError) -> Bool {
        try self.readOnly { db in
            let isEarlier = try db.exists("select 1 from sqlite_schema where name = 'user'")
            return try db.exists("select 1 from \(sql: isEarlier ? "user" : "account") limit 1")
        }
    }

    package func open(_ keyring: Keyring, _ options: StoreOptions) throws(StoreError) -> any Store {
        try SQLiteStore(path: self.path, keyring: keyring, options)
    }

    /// Migrates the schema, and creates the file if it is missing. Call it only while no server
    /// runs.
    package func migrate() throws(StoreError) {
        do {
            let connection = try SQLiteStore.connect(self.path, isReadOnly: false)
            try connection.exclusively { try Schema.prepare($0) }
            try connection.close()
        } catch {
            throw StoreError(opening: self.path, error)
        }
    }

    package func dataKeys() throws(StoreError) -> [DataKeyEntry] {
        guard self.exists else { return [] }
        return try self.readOnly { try DataKeyEntry.fetchAll($0) }
    }

    package func countSealed(with key: UInt32) throws(StoreError) -> Int {
        guard self.exists else { return 0 }
        return try self.readOnly { db in
            guard try Schema.applied(db).missing(Migration.all).isEmpty else {
                throw StoreError.unusable(reason: "it is of an earlier version; the server migrates it at its start")
            }
            return try SealedColumn.all.reduce(0) { try $0 + $1.count(db, with: key) }
        }
    }

    /// Inspects the database. Throws if somebody has changed the schema, or if another program
    /// has locked the file. Then a server could not start.
    package func inspect() throws(StoreError) -> StoreInspection {
        let inspection = try self.inspect(RunningCopy())
        try self.refuseLockOfAnotherProgram()
        return inspection
    }

    /// Takes the lock that each write needs, and releases it. Writes nothing.
    private func refuseLockOfAnotherProgram() throws(StoreError) {
        do {
            // While this connection is open, the other one does not checkpoint when it closes.
            try Connection.readOnly(path: self.path).read { db in
                _ = try db.exists("select 1 from sqlite_schema")
                let writer = try Connection(
                    path: self.path,
                    busyTimeout: .seconds(1),
                    prepare: SchemaComparison.distrustSchema
                )
                // A commit would fail beside the open reader in a file that is not in WAL mode,
                // such as a backup.
                try writer.exclusively { try $0.execute(sql: "begin immediate; rollback") }
                try writer.close()
            }
        } catch let error as DatabaseError where error.isLock {
            // The writes of a busy server can follow each other without a gap. A server reports
            // the locks of other programs itself.
            if !LockFile.isHeld(forDatabase: self.path) { throw StoreError(opening: self.path, error) }
        } catch {
            // The inspection has read the file, so the file cannot be written, as on a disk that
            // is read-only. The check of the disk reports that.
        }
    }

    /// Inspects the database. If `copy` is interrupted, the inspection throws.
    func inspect(_ copy: RunningCopy) throws(StoreError) -> StoreInspection {
        try self.readOnly(copy) { db in
            var inspection = StoreInspection()
            // SQLite ends after the first fault, and so does not throw at the rows of a damaged
            // page. A line with asterisks may precede the fault.
            inspection.damage = try db.all("pragma quick_check(1)") { try $0.text() }.filter { $0 != "ok" }
                .map { String($0.split(separator: "\n").last ?? "") }
            // The schema of a damaged database is not compared.
            if inspection.damage.isEmpty { try SchemaComparison.check(db, Migration.all) }
            let applied = try Schema.applied(db)
            inspection.missingMigrations = applied.missing(Migration.all)
            inspection.unknownMigration = applied.unknown(Migration.all)
            inspection.changedMigration = applied.changed(Migration.all)
            inspection.move = try MovedTo.read(db).map { "was moved to \($0.place) on \($0.at.ISO8601Format())" }
            if inspection.damage.isEmpty, !applied.hashes.isEmpty { inspection.tallies = try SQLiteReader.tallies(db) }
            return inspection
        }
    }

    package var lastWrite: (place: String, at: Date)? {
        [self.path, self.path + "-wal"].compactMap { file in
            // If the file does not exist, it has no time of a last write.
            let attributes = try? FileManager.default.attributesOfItem(atPath: file)
            return (attributes?[.modificationDate] as? Date).map { (place: file, at: $0) }
        }.max { $0.at < $1.at }
    }

    package func freeSpace() throws(StoreError) -> (bytes: UInt64, place: String)? {
        let folder = URL(fileURLWithPath: self.path).deletingLastPathComponent().path
        var status = statvfs()
        guard statvfs(FileManager.default.fileExists(atPath: folder) ? folder : ".", &status) == 0 else {
            throw .ofSystem(folder)
        }
        let free = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize)).partialValue
        return (free, folder)
    }

    /// Reads through a connection that changes nothing. A server may run meanwhile.
    private func readOnly<Value>(
        _ copy: RunningCopy = RunningCopy(),
        _ body: (Database) throws -> Value
    ) throws(StoreError) -> Value {
        do {
            return try copy.during(Connection.readOnly(path: self.path)) { try $0.read(body) }
        } catch {
            throw StoreError(opening: self.path, error)
        }
    }
}

extension Connection {
    /// Opens a connection that changes nothing. A server may run meanwhile.
    static func readOnly(path: String) throws -> Connection {
        guard !SQLiteDatabase.isOtherThanFile(path) else {
            throw DatabaseError(resultCode: .cannotOpen, message: "it is not a regular file")
        }
        return try Connection(
            path: path,
            isReadOnly: true,
            busyTimeout: .seconds(SQLiteStore.busyTimeout),
            prepare: SchemaComparison.distrustSchema
        )
    }
}

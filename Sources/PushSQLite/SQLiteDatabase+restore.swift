internal import Foundation
internal import Glibc
package import PushCore
package import PushStore

extension SQLiteDatabase {
    /// The path where a restore keeps the old database, with its log next to it.
    package var replacedPath: String { self.path + ".before-restore" }

    /// Replaces the database by a backup. If there is an old database, keeps it at `replacedPath`.
    ///
    /// The backup is copied and verified before anything changes. The log of the old database is
    /// moved with that database; otherwise SQLite would replay it into the restored database. If
    /// the process ends in the middle, the lock file records that. The database then cannot be
    /// opened until a restore has finished.
    ///
    /// The backup must have its keyed hash, unless `withoutHash` is `true`.
    ///
    /// `begins` is called at each step. Throws `StoreError` if the database is in use, or if it
    /// exists and `isReplacing` is `false`. Also throws if the database was restored before and
    /// the old database of that restore is still at `replacedPath`. Also throws if the backup is
    /// damaged, comes from a newer version, or needs keys that `keyring` lacks.
    package func restore(
        _ backup: String,
        keyring: Keyring,
        isReplacing: Bool,
        withoutHash: Bool = false,
        begins: (CopyStep) -> Void = { _ in }
    ) throws(StoreError) {
        guard FileManager.default.fileExists(atPath: backup) else {
            throw .cannotOpen(place: backup, reason: "the file does not exist")
        }
        let lock = try LockFile(forDatabase: self.path)
        defer {
            // A refused restore leaves no lock file where no database was.
            if !self.isMade() { lock.removeUnstamped() }
            lock.release()
        }
        // When the lock file was opened, its stamp was removed. Until the database changes, the
        // stamp stays right, so it is written again.
        if let stamp = lock.lastStamp { lock.leave(stamp) }
        let wasInterrupted = lock.lastStamp == LockFile.restoring
        guard isReplacing || wasInterrupted || !self.exists else {
            throw .cannotOpen(
                place: self.path,
                reason:
                    "the database exists; use --replace to replace it, which keeps it as a file ending in .before-restore"
            )
        }
        let kept = ["", "-wal"].map { self.replacedPath + $0 }.filter(FileManager.default.fileExists(atPath:))
        guard wasInterrupted || kept.isEmpty else {
            throw .cannotOpen(
                place: self.path,
                reason: """
                    the last restore kept the database before it, perhaps the only copy of its data, as \
                    \(kept.joined(separator: " and ")): with the server stopped, move \(kept.count == 1 ? "it" : "both") \
                    to another folder, and restore again
                    """
            )
        }
        let partial = self.path + ".restoring"
        // A restore that was interrupted may have left this file.
        unlink(partial)
        let copy = RunningCopy()
        let use = { () throws(StoreError) in
            try SQLiteDatabase(path: partial).verify(keyring, copy)
            lock.leave(LockFile.restoring)
            try self.moveAway()
            try Self.move(partial, to: self.path)
        }
        // The place of the copy is that of the database, so another folder is no remedy.
        try SQLiteDatabase(path: backup).copy(
            to: partial,
            hashedWith: withoutHash ? nil : keyring,
            remedy: "free some space there",
            copy,
            begins,
            use
        )
        try Self.syncFolder(of: self.path)
        lock.leave("")
    }

    private func verify(_ keyring: Keyring, _ copy: RunningCopy) throws(StoreError) {
        let inspection = try self.inspectBackup(copy)
        if let migration = inspection.unknownMigration { throw .tooNew(migration: migration) }
        if let migration = inspection.changedMigration { throw .changedMigration(migration) }
        let keys = try self.dataKeys()
        guard !keys.isEmpty else {
            throw .cannotOpen(place: self.path, reason: "the backup is not a database of sealpost")
        }
        try keys.check(keyring)
    }

    /// Moves the database, and then its log, which is useless without the database.
    ///
    /// If an interrupted restore has already moved a file, the moved file stays where it is. The
    /// file at the old path is that restore's copy of a backup, and is deleted.
    private func moveAway() throws(StoreError) {
        for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: self.path + suffix) {
            guard !FileManager.default.fileExists(atPath: self.replacedPath + suffix) else {
                unlink(self.path + suffix)
                continue
            }
            try Self.move(self.path + suffix, to: self.replacedPath + suffix)
        }
        unlink(self.path + "-shm")
        try Self.syncFolder(of: self.path)
    }
}

internal import Foundation
internal import Glibc
internal import PushStore
internal import Synchronization

/// The exclusive right to write a database, which only one process can have.
///
/// The lock is on a separate file, `<database>.lock`. On the database's own file, it would not
/// work: closing any descriptor of that file drops the locks of SQLite. The lock ends with the
/// process, even if the process is killed. If a process has closed the database properly, the lock
/// file then contains a stamp of the database's state.
final class LockFile: Sendable {
    /// The stamp that means that a restore has not finished.
    static let restoring = "restoring"
    private static let longestStamp = 200
    /// The commands F_OFD_GETLK and F_OFD_SETLK of fcntl(2), which Glibc's module lacks.
    private static let (askCommand, setCommand) = (Int32(36), Int32(37))

    private let path: String
    private let descriptor: Mutex<Int32?>
    /// The stamp that the last process has left; `nil` if it has left none.
    let lastStamp: String?

    init(forDatabase path: String) throws(StoreError) {
        let lock = path + ".lock"
        let descriptor = try openStateFile(lock)
        guard lockStateFile(descriptor, at: lock) else {
            defer { close(descriptor) }
            // The kernel returns a list above 4 KiB in pieces. If other locks end between two
            // pieces, the list may omit this lock.
            for _ in 0..<10 {
                if let holder = Self.holder(of: descriptor) { throw .inUse(place: path, process: holder) }
            }
            throw .inUse(place: path)
        }
        // Only `isHeld` needs this second lock, so a file system without such locks may refuse it.
        Self.setLock(descriptor, F_WRLCK)
        var bytes = [UInt8](repeating: 0, count: Self.longestStamp)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        self.lastStamp = count > 0 ? String(decoding: bytes[..<count], as: UTF8.self) : nil
        // Before the first write to the database, the stamp is removed from the disk: after the
        // write it would be wrong.
        guard ftruncate(descriptor, 0) == 0, fsync(descriptor) == 0 else {
            let error = StoreError.ofSystem(lock)
            close(descriptor)
            throw error
        }
        self.path = lock
        self.descriptor = Mutex(descriptor)
    }

    /// The process that holds the lock of an open file. `nil` if /proc/locks does not show it, for
    /// example if the process is in another container, or if the file system has several devices.
    private static func holder(of descriptor: Int32) -> Int? {
        var status = stat()
        guard fstat(descriptor, &status) == 0, let locks = textOfKernel("/proc/locks") else { return nil }
        for line in locks.split(separator: "\n") {
            // A line, as in proc_locks(5): `1: FLOCK ADVISORY WRITE 4711 fd:01:1234 0 EOF`
            let fields = line.split(separator: " ")
            guard fields.count > 5, fields[1] == "FLOCK", let process = Int(fields[4]), process > 0 else { continue }
            let file = fields[5].split(separator: ":")
            let parts = zip(file, [16, 16, 10]).compactMap { UInt64($0, radix: $1) }
            let (major, minor) = deviceNumbers(of: UInt64(status.st_dev))
            if parts == [major, minor, UInt64(status.st_ino)] { return process }
        }
        return nil
    }

    /// Whether a process holds the lock for a database. Takes no lock meanwhile, since a server
    /// that starts at this moment would end: `flock` cannot ask without taking the lock.
    static func isHeld(forDatabase path: String) -> Bool {
        let descriptor = open(path + ".lock", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var lock = Glibc.flock()
        lock.l_type = Int16(F_WRLCK)
        return fcntl(descriptor, Self.askCommand, &lock) == 0 && lock.l_type != Int16(F_UNLCK)
    }

    private static func setLock(_ descriptor: Int32, _ type: Int32) {
        var lock = Glibc.flock()
        lock.l_type = Int16(type)
        _ = fcntl(descriptor, Self.setCommand, &lock)
    }

    deinit { self.release() }

    /// Writes a stamp for the next process. Without a stamp, or with an empty one, the next
    /// process assumes that the database was not closed properly.
    func leave(_ stamp: String) {
        guard let descriptor = self.descriptor.withLock({ $0 }) else { return }
        let bytes = Array(stamp.utf8)
        ftruncate(descriptor, 0)
        _ = pwrite(descriptor, bytes, bytes.count, 0)
        fsync(descriptor)
    }

    /// Removes the lock file if it has no stamp. Call it if there is no database, before
    /// `release`.
    func removeUnstamped() {
        guard let descriptor = self.descriptor.withLock({ $0 }), lseek(descriptor, 0, SEEK_END) == 0 else { return }
        unlink(self.path)
    }

    /// Throws `StoreError.unusable` if the path no longer names the locked file. Another process
    /// could then lock a new file, and write the same database.
    func requireFile() throws(StoreError) {
        guard let descriptor = self.descriptor.withLock({ $0 }) else { return }
        try requireStateFile(descriptor, at: self.path)
    }

    /// Releases the lock, so that this or another process can open the database. Further calls do
    /// nothing.
    func release() {
        guard let descriptor = self.descriptor.withLock({ $0.take() }) else { return }
        // Closing alone does not release the lock (flock(2)): a forked child that has not yet
        // called exec has the descriptor, too.
        Self.setLock(descriptor, F_UNLCK)
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }
}

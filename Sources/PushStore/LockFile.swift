internal import Foundation
internal import Glibc

/// The right to write a database, held by at most one process.
///
/// The lock is on a file of its own, `<database>.lock`: closing any descriptor of the database itself would drop the
/// locks of SQLite. It goes with the process, however that ends.
final class LockFile: Sendable {
    private let descriptor: Int32

    init(forDatabase path: String) throws(StoreError) {
        let lock = path + ".lock"
        self.descriptor = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard self.descriptor >= 0 else {
            throw .cannotOpen(path: lock, reason: String(cString: strerror(errno)))
        }
        guard flock(self.descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(self.descriptor)
            throw .inUse(path: path)
        }
    }

    deinit {
        close(self.descriptor)
    }
}

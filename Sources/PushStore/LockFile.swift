internal import Foundation
internal import Glibc
internal import Synchronization

/// The right to write a database, held by at most one process.
///
/// The lock is on a file of its own, `<database>.lock`: closing any descriptor of the database itself would drop the
/// locks of SQLite. It goes with the process, however that ends.
final class LockFile: Sendable {
    private let descriptor: Mutex<Int32?>

    init(forDatabase path: String) throws(StoreError) {
        let lock = path + ".lock"
        let descriptor = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw .cannotOpen(path: lock, reason: String(cString: strerror(errno)))
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            throw .inUse(path: path)
        }
        self.descriptor = Mutex(descriptor)
    }

    deinit {
        self.release()
    }

    /// Lets another process, or this one, open the database; again and again is fine.
    func release() {
        if let descriptor = self.descriptor.withLock({ $0.take() }) { close(descriptor) }
    }
}

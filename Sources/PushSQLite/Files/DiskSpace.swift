internal import Glibc
internal import PushStore
internal import Synchronization

/// Whether the disk is full, which is told once when it begins and once when it ends.
final class DiskSpace: Sendable {
    private let isUsedUp = Atomic(false)
    private let onEvent: @Sendable (StoreEvent) -> Void

    init(onEvent: @escaping @Sendable (StoreEvent) -> Void) {
        self.onEvent = onEvent
    }

    var isFull: Bool { self.isUsedUp.load(ordering: .relaxed) }

    /// Takes in whether something could be written; returns whether that is news.
    @discardableResult
    func note(isFull: Bool) -> Bool {
        guard self.isUsedUp.exchange(isFull, ordering: .relaxed) != isFull else { return false }
        self.onEvent(isFull ? .diskFull : .roomAgain)
        return true
    }

    /// Whether a file beside this one could have a mebibyte, which a transaction of many posts may take in the log.
    ///
    /// True where the file system cannot be asked.
    static func hasRoom(beside path: String) -> Bool {
        var name = Array("\(path)-room-XXXXXX".utf8CString)
        let descriptor = mkstemp(&name)
        guard descriptor >= 0 else { return errno != ENOSPC && errno != EDQUOT }
        unlink(name)
        defer { close(descriptor) }
        let code = posix_fallocate(descriptor, 0, 1 << 20)
        return code != ENOSPC && code != EDQUOT
    }
}

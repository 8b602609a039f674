internal import Glibc
internal import PushStore
internal import Synchronization

/// Whether the disk is full; reports each change once.
final class DiskSpace: Sendable {
    private let isUsedUp = Atomic(false)
    private let onEvent: @Sendable (StoreEvent) -> Void

    init(onEvent: @escaping @Sendable (StoreEvent) -> Void) {
        self.onEvent = onEvent
    }

    var isFull: Bool { self.isUsedUp.load(ordering: .relaxed) }

    /// Records whether the disk is full; returns whether that has changed.
    @discardableResult
    func record(isFull: Bool) -> Bool {
        guard self.isUsedUp.exchange(isFull, ordering: .relaxed) != isFull else { return false }
        self.onEvent(isFull ? .diskFull : .roomAgain)
        return true
    }

    /// Whether there is room for a mebibyte next to this file; a transaction of many posts may
    /// take that much in the log.
    ///
    /// Returns `true` if the file system does not report its free space.
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

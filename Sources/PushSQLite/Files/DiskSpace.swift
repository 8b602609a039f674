internal import Glibc

/// The free space on a file's disk.
enum DiskSpace {
    /// Whether the disk has room for a mebibyte next to this file. A transaction with many posts
    /// may need that much in the log.
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

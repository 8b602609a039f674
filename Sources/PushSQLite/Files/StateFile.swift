internal import Foundation
internal import Glibc
internal import PushStore

/// Opens the database, or a file next to it, for reading and writing. A missing file is created
/// with the mode 0600.
///
/// A link, or a file with a second name, is refused: it may be another file, whose content and
/// mode must stay the same. Throws `StoreError.cannotOpen`.
func openStateFile(_ path: String) throws(StoreError) -> Int32 {
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
    guard descriptor >= 0 else {
        let reason = errno == ELOOP ? "it is a link; name the file itself" : String(cString: strerror(errno))
        throw .cannotOpen(place: path, reason: reason)
    }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_nlink == 1 else {
        close(descriptor)
        throw .cannotOpen(place: path, reason: "it is not a regular file, or has a second name (hard link)")
    }
    return descriptor
}

/// Locks an open file, and does not wait. `false` if another process holds the lock, or if the
/// path no longer names this file: the last holder of the lock may have renamed or removed the
/// file.
func lockStateFile(_ descriptor: Int32, at path: String) -> Bool {
    flock(descriptor, LOCK_EX | LOCK_NB) == 0 && isStateFile(descriptor, at: path)
}

/// Throws `StoreError.unusable` if the path no longer names this open file.
func requireStateFile(_ descriptor: Int32, at path: String) throws(StoreError) {
    guard isStateFile(descriptor, at: path) else { throw .removed(path) }
}

/// Whether the path still names this open file, and not another file or none.
private func isStateFile(_ descriptor: Int32, at path: String) -> Bool {
    var status = stat()
    return fstat(descriptor, &status) == 0 && fileNumbers(at: path) == [status.st_dev, status.st_ino]
}

/// The numbers of the device and of the file that the path names now; `nil` if it names none.
/// While a file is open, no other file can get both, even if the file was removed.
func fileNumbers(at path: String) -> [UInt]? {
    var status = stat()
    return stat(path, &status) == 0 ? [status.st_dev, status.st_ino] : nil
}

/// The whole text of a file in /proc; `nil` if it cannot be read. `String(contentsOfFile:)` reads
/// only the first 4 KiB of such a file, because its length counts as zero.
func textOfKernel(_ path: String) -> String? {
    (try? FileHandle(forReadingAtPath: path)?.readToEnd()).map { String(decoding: $0, as: UTF8.self) }
}

/// The numbers of a device as the kernel writes them in the files of /proc. The bits are those of
/// makedev(3).
func deviceNumbers(of device: UInt64) -> (major: UInt64, minor: UInt64) {
    (device >> 8 & 0xFFF | device >> 32 & 0xFFFF_F000, device & 0xFF | device >> 12 & 0xFFFF_FF00)
}

extension StoreError {
    static func removed(_ path: String) -> StoreError {
        .unusable(
            reason: """
                the file \(path) was removed or replaced while the server ran; remove the foreign file, or restore \
                (docs/troubleshooting.md)
                """
        )
    }

    /// The error of the last system call, which concerns the file `place`.
    static func ofSystem(_ place: String) -> StoreError {
        .cannotOpen(place: place, reason: String(cString: strerror(errno)))
    }
}

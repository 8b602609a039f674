internal import Foundation

/// Creates files that are written once, and never overwritten.
///
/// `Data.write(to:)` is not used: it syncs each file to the disk, which takes seconds for a page
/// of notifications.
enum NewFile {
    /// Throws `CocoaError.fileWriteFileExists` if the name is taken. With `isSynced`, the content
    /// survives a loss of power.
    static func create(_ file: URL, _ bytes: Data, isSynced: Bool) throws {
        let descriptor = open(file.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw self.error(errno) }
        do {
            defer { close(descriptor) }
            #if canImport(Darwin) && !os(macOS)
                try FileManager.default.setAttributes(
                    [.protectionKey: FileProtectionType.completeUntilFirstUserAuthentication],
                    ofItemAtPath: file.path
                )
            #endif
            try bytes.withUnsafeBytes { bytes in
                var rest = bytes[...]
                while !rest.isEmpty {
                    let count = write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                    if count < 0, errno == EINTR { continue }
                    guard count > 0 else { throw self.error(count < 0 ? errno : EIO) }
                    rest = rest.dropFirst(count)
                }
            }
            guard !isSynced || fsync(descriptor) == 0 else { throw self.error(errno) }
        } catch {
            unlink(file.path)
            throw error
        }
    }

    private static func error(_ number: Int32) -> CocoaError {
        let code: CocoaError.Code =
            switch number {
            case EEXIST: .fileWriteFileExists
            case ENOSPC, EDQUOT: .fileWriteOutOfSpace
            case EACCES, EPERM: .fileWriteNoPermission
            case ENOENT: .fileNoSuchFile
            default: .fileWriteUnknown
            }
        return CocoaError(code)
    }
}

import Foundation
import Glibc

/// A folder in which a command of root's reads or writes.
///
/// Another user who may write to the folder, or to one above it, could put links or a socket there. So every folder up
/// to `/` must belong to root or to `owner`, and only its owner may write to it. A sticky folder such as `/tmp` passes
/// if the folder in it is root's. sshd's `StrictModes` has the same rule.
struct RootFolder {
    let path: String
    /// The user whom root trusts here, apart from itself.
    var owner: uid_t = 0
    /// Whether the command only makes a file of its own in the folder, which nobody else may rename in a sticky one.
    var isForNewFile = false

    init(_ path: String, owner: uid_t = 0) {
        self.path = path
        self.owner = owner
    }

    /// The folder of a file, which need not exist.
    init(of file: String, isForNewFile: Bool = false) {
        self.path = URL(fileURLWithPath: file).deletingLastPathComponent().path
        self.isForNewFile = isForNewFile
    }

    /// The folder of a file; where that is missing, the nearest above it, in which a command would make it.
    init(ofExisting file: String) {
        var folder = URL(fileURLWithPath: file).deletingLastPathComponent().standardizedFileURL
        while folder.path != "/", !FileManager.default.fileExists(atPath: folder.path) {
            folder.deleteLastPathComponent()
        }
        self.path = folder.path
    }

    /// The reason why root may not use the folder; `nil` if it may, or if this process is not root's.
    var fault: String? {
        guard geteuid() == 0 else { return nil }
        guard let resolved = realpath(self.path, nil) else {
            return "\(self.path): \(String(cString: strerror(errno)))"
        }
        defer { free(resolved) }
        var (folder, below) = (String(cString: resolved), self.isForNewFile ? 0 : uid_t?.none)
        while true {
            var status = stat()
            guard lstat(folder, &status) == 0 else { return "\(folder): \(String(cString: strerror(errno)))" }
            guard [0, self.owner].contains(status.st_uid) else {
                let name = LocalUser.name(of: status.st_uid)
                return "the folder \(folder) is the user \(name)'s; run the command as \(name): runuser -u \(name) -- …"
            }
            let othersBits: mode_t = status.st_gid == 0 ? 0o002 : 0o022
            let isSticky = status.st_mode & S_ISVTX != 0 && below == 0
            guard status.st_mode & othersBits == 0 || isSticky else {
                return "other users may write to the folder \(folder); set its mode, or use another folder"
            }
            if folder == "/" { return nil }
            below = status.st_uid
            folder = URL(fileURLWithPath: folder).deletingLastPathComponent().path
        }
    }
}

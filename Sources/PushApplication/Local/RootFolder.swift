import Foundation
import Glibc

/// A folder where a command that runs as root reads or writes.
///
/// Another user who may write to the folder, or to a folder above it, could put links or a socket
/// there. So every folder up to `/` must belong to root or to `owner`, and only its owner may
/// write to it. A sticky folder such as `/tmp` is allowed if the next entry of the path belongs to
/// root. sshd's `StrictModes` has a similar rule.
package struct RootFolder {
    let path: String
    /// The user whom root trusts here, in addition to root itself.
    var owner: uid_t = 0
    /// Whether the command only creates its own file in the folder. The folder may then be sticky,
    /// since in a sticky folder no other user may rename that file.
    var isForNewFile = false

    init(_ path: String, owner: uid_t = 0) {
        self.path = Self.absolute(path)
        self.owner = owner
    }

    /// The folder that contains, or will contain, `file`.
    package init(of file: String, isForNewFile: Bool = false) {
        self.path = "/" + Self.absolute(file).split(separator: "/").dropLast().joined(separator: "/")
        self.isForNewFile = isForNewFile
    }

    /// The folder of a file or, if that folder does not exist, the nearest existing folder above
    /// it.
    package init(ofExisting file: String) {
        // `..` is not resolved here: behind a link, the kernel resolves it to the folder above the
        // link's target.
        var names = Self.absolute(file).split(separator: "/").dropLast()
        func path() -> String { "/" + names.joined(separator: "/") }
        while !names.isEmpty, !FileManager.default.fileExists(atPath: path()) { names.removeLast() }
        self.path = path()
    }

    private static func absolute(_ path: String) -> String {
        path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    }

    /// The reason why this process can make no file in the folder; `nil` if it can.
    var writeFault: String? {
        if PrivateFile.isFile(self.path) { return "\(self.path) is not a folder" }
        guard access(self.path, W_OK | X_OK) != 0 else { return nil }
        return "the folder \(self.path) cannot be written: \(String(cString: strerror(errno)))"
    }

    /// The reason why root may not use the folder; `nil` if root may use it, or if this process
    /// does not run as root.
    ///
    /// Checks each folder on the way from `/`. This includes folders that contain a link, since a
    /// user who may write there chooses the link's target.
    package var fault: String? {
        guard geteuid() == 0 else { return nil }
        var rest = self.path.split(separator: "/").filter { $0 != "." }.map(String.init)[...]
        var (folder, links) = ("/", 0)
        while true {
            let entry = rest.popFirst()
            let next = entry.map { folder == "/" ? "/\($0)" : "\(folder)/\($0)" }
            var status = stat()
            if let next, lstat(next, &status) != 0 { return "\(next): \(String(cString: strerror(errno)))" }
            if let fault = self.fault(of: folder, ownerBelow: next == nil ? nil : status.st_uid) { return fault }
            guard let next else { return nil }
            if entry == ".." {
                folder = URL(fileURLWithPath: folder).deletingLastPathComponent().path
            } else if status.st_mode & S_IFMT == S_IFLNK {
                links += 1
                guard links <= 40, let target = try? FileManager.default.destinationOfSymbolicLink(atPath: next) else {
                    return "\(next): \(String(cString: strerror(ELOOP)))"
                }
                if target.hasPrefix("/") { folder = "/" }
                rest = target.split(separator: "/").filter { $0 != "." }.map(String.init)[...] + rest
            } else {
                folder = next
            }
        }
    }

    /// The reason why `folder` is not safe. `ownerBelow` is the owner of the path's next entry in
    /// the folder; `nil` for the last folder.
    private func fault(of folder: String, ownerBelow: uid_t?) -> String? {
        var status = stat()
        guard lstat(folder, &status) == 0 else { return "\(folder): \(String(cString: strerror(errno)))" }
        guard [0, self.owner].contains(status.st_uid) else {
            let name = LocalUser.name(of: status.st_uid)
            return "the folder \(folder) belongs to the user \(name); \(LocalUser.remedy(name))"
        }
        let othersBits: mode_t = status.st_gid == 0 ? 0o002 : 0o022
        let isSafeBelow = ownerBelow.map { $0 == 0 } ?? self.isForNewFile
        guard status.st_mode & othersBits == 0 || status.st_mode & S_ISVTX != 0 && isSafeBelow else {
            return "other users may write to the folder \(folder); set its mode to 0700 or 0755, or use another folder"
        }
        return nil
    }
}

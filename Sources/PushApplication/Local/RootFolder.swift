import Foundation
import Glibc

/// A folder in which a command of root's reads or writes.
///
/// Another user who may write to the folder, or to one above it, could put links or a socket
/// there. So every folder up to `/` must belong to root or to `owner`, and only its owner may
/// write to it. A sticky folder such as `/tmp` passes if the folder in it is root's. sshd's
/// `StrictModes` has the same rule.
package struct RootFolder {
    let path: String
    /// The user whom root trusts here, apart from itself.
    var owner: uid_t = 0
    /// Whether the command only creates its own file in the folder. Even in a sticky folder,
    /// nobody else may rename that file.
    var isForNewFile = false

    init(_ path: String, owner: uid_t = 0) {
        self.path = Self.absolute(path)
        self.owner = owner
    }

    /// The folder of a file, which need not exist.
    package init(of file: String, isForNewFile: Bool = false) {
        self.path = "/" + Self.absolute(file).split(separator: "/").dropLast().joined(separator: "/")
        self.isForNewFile = isForNewFile
    }

    /// The folder of a file, or the nearest existing folder above it.
    package init(ofExisting file: String) {
        // The kernel resolves `..` behind a link to the folder above the link's target.
        var names = Self.absolute(file).split(separator: "/").dropLast()
        func path() -> String { "/" + names.joined(separator: "/") }
        while !names.isEmpty, !FileManager.default.fileExists(atPath: path()) { names.removeLast() }
        self.path = path()
    }

    private static func absolute(_ path: String) -> String {
        path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    }

    /// The reason why root may not use the folder; `nil` if it may, or if this process is not
    /// root's.
    ///
    /// Checks each folder on the way from `/`, also folders that hold a link, since their writers
    /// choose its target.
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

    /// `ownerBelow` is the owner of the entry used in the folder; `nil` for the last folder.
    private func fault(of folder: String, ownerBelow: uid_t?) -> String? {
        var status = stat()
        guard lstat(folder, &status) == 0 else { return "\(folder): \(String(cString: strerror(errno)))" }
        guard [0, self.owner].contains(status.st_uid) else {
            let name = LocalUser.name(of: status.st_uid)
            return
                "the folder \(folder) belongs to the user \(name); run the command as \(name): runuser -u \(name) -- …"
        }
        let othersBits: mode_t = status.st_gid == 0 ? 0o002 : 0o022
        let isSafeBelow = ownerBelow.map { $0 == 0 } ?? self.isForNewFile
        guard status.st_mode & othersBits == 0 || status.st_mode & S_ISVTX != 0 && isSafeBelow else {
            return "other users may write to the folder \(folder); set its mode to 0700 or 0755, or use another folder"
        }
        return nil
    }
}

import Foundation
import Glibc

/// The users of this machine's processes.
enum LocalUser {
    /// Whether the local admin socket serves processes of `user`: only root and the user that the
    /// daemon runs as are served.
    static func isAdmitted(_ user: UInt32) -> Bool {
        user == 0 || user == geteuid()
    }

    /// The name of the user in the machine's user database. It is the user's number if the
    /// database has no name, or if the name would not fit in a line of the audit.
    static func name(of user: UInt32) -> String {
        guard let (name, _) = self.entry(of: user), (1...64).contains(name.utf8.count),
            name.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            return "\(user)"
        }
        return name
    }

    /// The end of an error about files of the user with this name.
    static func remedy(_ name: String) -> String {
        "run the command as \(name)" + (geteuid() == 0 ? ": runuser -u \(name) -- …" : "")
    }

    /// Gives this process of root the rights of another user, for good. These rights include the
    /// user's groups in the user database; a user who is not in the database gets only `group`.
    /// Returns `false` if the kernel refuses the change.
    static func become(_ user: UInt32, otherwiseOf group: UInt32) -> Bool {
        if let (name, group) = self.entry(of: user) {
            return initgroups(name, group) == 0 && setgid(group) == 0 && setuid(user) == 0
        }
        return setgroups(0, nil) == 0 && setgid(group) == 0 && setuid(user) == 0
    }

    private static func entry(of user: UInt32) -> (name: String, group: gid_t)? {
        var (entry, found) = (passwd(), UnsafeMutablePointer<passwd>?.none)
        var buffer = [CChar](repeating: 0, count: 16_384)
        guard getpwuid_r(user, &entry, &buffer, buffer.count, &found) == 0, found != nil, let name = entry.pw_name
        else {
            return nil
        }
        return (String(cString: name), entry.pw_gid)
    }
}

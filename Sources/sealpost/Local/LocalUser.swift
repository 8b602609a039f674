import Foundation
import Glibc

/// The users of this machine's processes.
enum LocalUser {
    /// Whether the local admin socket serves processes of this user: root, and the user that the daemon runs as.
    static func isAdmitted(_ user: UInt32) -> Bool {
        user == 0 || user == geteuid()
    }

    /// The name in the machine's user database; the number without one, or with one that would not fit in a line of the audit.
    static func name(of user: UInt32) -> String {
        var (entry, found) = (passwd(), UnsafeMutablePointer<passwd>?.none)
        var buffer = [CChar](repeating: 0, count: 16_384)
        let name: String? =
            getpwuid_r(user, &entry, &buffer, buffer.count, &found) == 0 && found != nil
            ? entry.pw_name.map { String(cString: $0) } : nil
        guard let name, (1...64).contains(name.utf8.count), name.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            return "\(user)"
        }
        return name
    }
}

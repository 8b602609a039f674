import Foundation
import Glibc
import Reactor
import SocketHTTP

/// The socket at which the daemon accepts commands from programs on this machine. It is a file of
/// the mode 0600, in a folder that only its owner may enter.
struct AdminSocket: Sendable, Hashable {
    let path: String
    /// A file that belongs to the server's user, who may also own the socket's folder. `nil`: only
    /// root and this process's user may own the folder.
    var serverFile: String?
    /// Whether the folder contains only the socket, so that the daemon may set the folder's mode.
    var isUsual = false

    private var folder: String {
        self.path.lastIndex(of: "/").map { String(self.path[..<$0]) } ?? "."
    }

    // MARK: The daemon's end

    /// Listens at the socket, and makes the folder if it is missing. Two daemons cannot listen at
    /// the same socket, even if both start at the same time.
    ///
    /// Throws an `AdminSocketError` with the cause.
    func listen() throws(AdminSocketError) -> (listener: Listener, lock: AdminSocketLock) {
        // The folder is private from here on. So no other user can replace the socket, or connect
        // to it before its mode is set.
        try self.makeFolder()
        if self.isUsual { self.closeFolder() }
        try self.checkFolder()
        let lock = try AdminSocketLock(self.path + ".lock")
        try self.refuseOtherFile()
        guard let address = SocketAddress("unix:\(self.path)") else {
            throw AdminSocketError("\(self.path) is longer than the 107 bytes of a socket's path; set admin.socket")
        }
        do throws(SystemError) {
            // If connections to an old socket are refused, no daemon listens there, and `Listener`
            // replaces that socket.
            return (try Listener(address, backlog: 64, isOwnersOnly: true), lock)
        } catch {
            throw AdminSocketError("\(error)")
        }
    }

    /// Throws if the folder or the path cannot be used. Changes nothing, so it may run while a
    /// daemon listens.
    func check() throws(AdminSocketError) {
        let folder = RootFolder(ofExisting: self.path)
        if let fault = folder.writeFault { throw AdminSocketError(fault) }
        if !PrivateFile.isMissing(self.folder) { try self.checkFolder() }
        try self.refuseOtherFile()
    }

    // MARK: A command's end

    /// Whether a daemon holds the socket's lock, perhaps after the socket was removed.
    var isHeld: Bool {
        let descriptor = open(self.path + ".lock", O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return flock(descriptor, LOCK_SH | LOCK_NB) != 0
    }

    /// A connection to the daemon that listens at the socket; `nil` if no daemon listens there.
    ///
    /// Throws `AdminSocketError` if this function cannot find out whether a daemon listens, or if
    /// it does not trust the listener.
    func connect() throws(AdminSocketError) -> Int32? {
        guard let address = SocketAddress("unix:\(self.path)") else { return nil }
        let socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { throw AdminSocketError("socket: \(String(cString: strerror(errno)))") }
        // The timeout also limits how long `connect` waits for a daemon that accepts no connection
        // while its queue is full.
        var timeout = timeval(tv_sec: 5, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        guard address.withName({ Glibc.connect(socket, $0, $1) }) == 0 else {
            let code = errno
            close(socket)
            switch code {
            case ENOENT, ENOTDIR, ECONNREFUSED: return nil
            case EAGAIN: throw .silent(self.path)
            case EACCES, EPERM:
                throw AdminSocketError("\(self.path): permission denied; be root or the server's user")
            default: throw AdminSocketError("\(self.path): \(String(cString: strerror(code)))")
            }
        }
        do throws(AdminSocketError) {
            try self.checkListener(socket)
        } catch {
            close(socket)
            throw error
        }
        return socket
    }

    /// Throws unless the listening process belongs to root, to this process's user or to the
    /// folder's owner. Commands send passwords through this socket, so the listener must be
    /// trusted.
    ///
    /// The folder's owner must be root, this process's user or the server's user. Root accepts a
    /// relative path only below its own folders, because another user may have chosen root's
    /// working directory.
    private func checkListener(_ socket: Int32) throws(AdminSocketError) {
        let owner = try self.checkFolder(ofAnybody: true)
        var file = stat()
        let server = self.serverFile.flatMap { stat($0, &file) == 0 ? file.st_uid : nil }
        guard [0, geteuid(), server].contains(owner) else {
            throw AdminSocketError(
                "the folder \(self.folder) belongs neither to you nor to the server's user; nothing was sent"
            )
        }
        let trusted = RootFolder(self.folder, owner: self.path.hasPrefix("/") ? owner : 0)
        if let fault = trusted.fault { throw AdminSocketError("\(fault); nothing was sent") }
        guard case .process(let user) = PeerAddress(processAt: socket), [0, geteuid(), owner].contains(user) else {
            throw AdminSocketError("\(self.path): another user's process listens there; nothing was sent")
        }
    }

    // MARK: - Private

    private func refuseOtherFile() throws(AdminSocketError) {
        guard Listener.isOtherFile(self.path) else { return }
        throw AdminSocketError("\(self.path) is not a socket; remove it, or set admin.socket to another path")
    }

    private func makeFolder() throws(AdminSocketError) {
        do {
            try FileManager.default.createDirectory(
                atPath: self.folder,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw AdminSocketError("the folder \(self.folder) cannot be created: \(error.cause)")
        }
    }

    /// Makes the daemon's own folder private again: at each mount of a volume with `fsGroup`,
    /// Kubernetes gives this group access to all folders of the volume. A link, or a folder of
    /// another user, stays as it is, and `checkFolder` then refuses it.
    private func closeFolder() {
        let descriptor = open(self.folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_uid == geteuid() else { return }
        fchmod(descriptor, 0o700)
    }

    /// Throws unless the folder is safe for the socket. Returns the user id of the folder's owner.
    @discardableResult
    private func checkFolder(ofAnybody: Bool = false) throws(AdminSocketError) -> uid_t {
        var status = stat()
        guard stat(self.folder, &status) == 0 else {
            throw AdminSocketError("\(self.folder): \(String(cString: strerror(errno)))")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw AdminSocketError(
                "the folder \(self.folder) can be entered by other users; set its mode to 0700, "
                    + "or admin.socket to a path outside a volume that changes modes"
            )
        }
        guard ofAnybody || status.st_uid == geteuid() else {
            throw AdminSocketError(
                "the folder \(self.folder) belongs to another user; set admin.socket to another path"
            )
        }
        return status.st_uid
    }
}

/// A lock that the daemon holds while it listens, so that no other daemon replaces its socket.
final class AdminSocketLock: Sendable {
    private let descriptor: Int32

    /// Throws `AdminSocketError` if another process holds the lock.
    init(_ path: String) throws(AdminSocketError) {
        self.descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard self.descriptor >= 0 else { throw AdminSocketError("\(path): \(String(cString: strerror(errno)))") }
        guard flock(self.descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw AdminSocketError("another server listens at \(path); set admin.socket to another path")
        }
    }

    deinit {
        if self.descriptor >= 0 { close(self.descriptor) }
    }
}

/// The reason why this process has no local admin socket, or cannot use it.
struct AdminSocketError: Error, Hashable, CustomStringConvertible {
    let description: String

    init(_ reason: String) {
        self.description = "local admin socket: \(reason)"
    }

    /// The error for a daemon that listens at the socket but does not answer.
    static func silent(_ path: String) -> AdminSocketError {
        AdminSocketError("the server at \(path) does not answer; nothing was changed. See its log, or restart it")
    }
}

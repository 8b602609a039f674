import Foundation
import Glibc

extension Configuration {
    /// Throws if the database, the keyring or another file of the server belongs to another user.
    /// Also throws if such a file is in a folder that another user may write to.
    ///
    /// If root created files of the server, such as the log, the server could not open them. Root
    /// would also follow links that another user made. `ofServer` adds the files that only the
    /// server opens.
    package func refuseForeignFiles(ofServer: Bool = false) throws(CommandFailure) {
        for (what, file) in self.ownedFiles { try self.refuseForeign(what, file) }
        guard geteuid() == 0 else { return }
        if ofServer, let logFile { try self.refuseForeign("the log", logFile) }
        for address in self.listen where ofServer && address.hasPrefix("unix:") {
            try self.refuseForeign("the socket", String(address.dropFirst("unix:".count)))
        }
        if ofServer, let socket = self.adminSocket { try self.refuseForeign("the admin socket", socket.path) }
    }

    /// Makes a process of root continue for good as the user who owns the server's files. Then the
    /// process follows none of that user's links with root's rights. A process of another user
    /// stays as it is.
    ///
    /// Throws if another user may write to one of root's folders.
    package func continueAsOwner() throws(CommandFailure) {
        guard geteuid() == 0 else { return }
        for (_, file) in self.ownedFiles {
            for path in [file, RootFolder(ofExisting: file).path] {
                var status = stat()
                guard lstat(path, &status) == 0, status.st_uid != 0 else { continue }
                let (user, group) = (status.st_uid, status.st_gid)
                guard LocalUser.become(user, otherwiseOf: group) else {
                    let name = LocalUser.name(of: user)
                    throw CommandFailure("\(path) belongs to the user \(name); \(LocalUser.remedy(name))")
                }
                return
            }
        }
        try self.refuseForeignFiles()
    }

    /// The files that the user who runs a command must own. A database on disk contains the day
    /// keys and the timeline, so those files are listed only for PostgreSQL.
    private var ownedFiles: [(what: String, path: String)] {
        let database = self.databaseFile == nil ? [] : [("the database", self.database)]
        // A user other than root must be the server's user, and only the owner of the database
        // shows that. The key files may have another owner, if a group lets the server read them.
        guard geteuid() == 0 else { return database }
        let keys = [("the keyring", self.keyring), ("the file of signing keys", self.signingKeys)]
        guard database.isEmpty else { return database + keys }
        return keys + [("the file of day keys", self.dayKeys), ("the file of the timeline", self.timeline)]
    }

    private func refuseForeign(_ what: String, _ file: String) throws(CommandFailure) {
        var status = stat()
        let folder = RootFolder(ofExisting: file)
        let isThere = stat(file, &status) == 0 || geteuid() == 0 && stat(folder.path, &status) == 0
        guard !isThere || status.st_uid == geteuid() else {
            let owner = LocalUser.name(of: status.st_uid)
            let fault = "\(what) \(file) belongs to the user \(owner); \(LocalUser.remedy(owner))"
            throw CommandFailure(fault, .badConfiguration)
        }
        if let fault = folder.fault { throw CommandFailure("\(what) \(file): \(fault)", .badConfiguration) }
    }
}

import Foundation
import Glibc
import PushPostgreSQL

extension Configuration {
    /// Throws if the database, the keyring or another file of the server is another user's, or lies in a folder that
    /// another user may write to.
    ///
    /// Files that root would make there, such as the log, would keep the server from them; and root would follow that
    /// user's links.
    func refuseForeignFiles() throws(CommandFailure) {
        let isOnDisk = PostgreSQLPlace(self.database) == nil
        if isOnDisk { try self.refuseForeign("the database", self.database) }
        // The server's user reads some of them by its group.
        guard geteuid() == 0 else { return }
        try self.refuseForeign("the keyring", self.keyring)
        try self.refuseForeign("the file of signing keys", self.signingKeys)
        if !isOnDisk {
            try self.refuseForeign("the file of day keys", self.dayKeys)
            try self.refuseForeign("the file of the timeline", self.timeline)
        }
    }

    private func refuseForeign(_ what: String, _ file: String) throws(CommandFailure) {
        var status = stat()
        let folder = RootFolder(ofExisting: file)
        let isThere = stat(file, &status) == 0 || geteuid() == 0 && stat(folder.path, &status) == 0
        guard !isThere || status.st_uid == geteuid() else {
            let owner = LocalUser.name(of: status.st_uid)
            throw CommandFailure("\(what) \(file) is the user \(owner)'s; run the command as \(owner)")
        }
        if let fault = folder.fault { throw CommandFailure("\(what) \(file): \(fault)") }
    }
}

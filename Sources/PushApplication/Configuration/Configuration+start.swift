import Glibc
import PushSQLite
import Reactor

extension Configuration {
    /// The files that this start makes, because they are missing, with the keys that set their
    /// paths.
    private var missingFiles: [(key: String, path: String)] {
        var files: [(key: String, path: String)] = [("keys", self.keyring), ("keys", self.signingKeys)]
        if let file = self.databaseFile { files.append(("database", file.path)) }
        for case (let name, .webPush(let webPush)) in self.senders {
            files.append(("\(name.configurationKey).keyFile", webPush.keyFile))
        }
        return files.filter { PrivateFile.isMissing($0.path) }
    }

    /// Whether this start makes any files. Throws `ConfigurationError` if it could not make one of
    /// them, or could not listen at the configured admin socket.
    @discardableResult
    package func checkMissingFiles() throws(ConfigurationError) -> Bool {
        let missing = self.missingFiles
        if missing.isEmpty { return false }
        for (key, path) in missing {
            try PrivateFile.refuseDanglingLink(path, what: "\(key):")
            guard let fault = RootFolder(ofExisting: path).writeFault else { continue }
            throw ConfigurationError("\(key): \(path) cannot be created: \(fault)")
        }
        try self.checkAdminSocket()
        return true
    }

    /// Throws if `admin.socket` is set, and a server could not listen there. Changes nothing.
    func checkAdminSocket() throws(ConfigurationError) {
        guard case .at = self.localSocket, let socket = self.adminSocket else { return }
        do throws(AdminSocketError) {
            try socket.check()
        } catch {
            throw ConfigurationError("admin.socket: \(error)")
        }
    }

    /// The missing folder in `/run` of the configured admin socket; `nil` if there is no such
    /// folder. systemd makes a unit's `RuntimeDirectory` only when the service starts.
    var missingRuntimeFolder: String? {
        guard case .at(let path) = self.localSocket, path.hasPrefix("/run/") else { return nil }
        let names = path.split(separator: "/")
        let folder = names.prefix(2).map { "/\($0)" }.joined()
        return names.count > 2 && PrivateFile.isMissing(folder) ? folder : nil
    }

    /// Opens the addresses of `server.listen`. Throws `CommandFailure`.
    func makeListeners() throws(CommandFailure) -> [Listener] {
        try self.listen.compactMap(SocketAddress.init).map { (address) throws(CommandFailure) in
            do throws(SystemError) {
                return try Listener(address)
            } catch {
                throw CommandFailure("server.listen: \(error)\(Self.remedy(for: error, at: address))")
            }
        }
    }

    private static func remedy(for error: SystemError, at address: SocketAddress) -> String {
        switch (error.code, address) {
        case (EADDRINUSE, _): "; stop the program that has the address, or change server.listen"
        case (EADDRNOTAVAIL, _): "; use an address of this machine"
        case (EACCES, .tcp): "; use a port above 1023, or the socket of systemd: docs/operate/install.md"
        case (EACCES, .unix): "; let the server's user write to the socket's folder"
        case (ENOENT, .unix), (ENOTDIR, .unix): "; make the socket's folder, or correct its path"
        default: ""
        }
    }
}

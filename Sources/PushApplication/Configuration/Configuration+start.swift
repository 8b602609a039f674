import Glibc
import PushSQLite
import Reactor

extension Configuration {
    /// The files that a start makes if they are missing.
    var madeFiles: [String] {
        let senders = self.senders.values.map { sender -> String? in
            if case .webPush(let webPush) = sender { webPush.keyFile } else { nil }
        }
        return ([self.keyring, self.signingKeys, self.databaseFile?.path] + senders).compactMap(\.self)
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

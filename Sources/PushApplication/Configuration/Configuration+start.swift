import Glibc
import PushSQLite
import Reactor

extension Configuration {
    /// The files that the server's start makes if they are missing.
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
                let remedy =
                    switch error.code {
                    case EADDRINUSE: "; stop the program that has the address, or change server.listen"
                    case EACCES: "; use a port above 1023, or the socket of systemd: docs/operate/install.md"
                    case EADDRNOTAVAIL: "; use an address of this machine"
                    default: ""
                    }
                throw CommandFailure("server.listen: \(error)\(remedy)")
            }
        }
    }
}

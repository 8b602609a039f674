import Logging
import PushServer
import Reactor
import SocketHTTP

/// The server of the local admin socket, and the lock that reserves the socket for this daemon.
struct AdminServer: Sendable {
    let server: HTTPServer
    let lock: AdminSocketLock
}

extension ApplicationParts {
    /// Listens on the local admin socket; `nil` if the configuration turns the socket off.
    ///
    /// Throws `ConfigurationError` if the configuration names a socket that cannot be opened. If
    /// the default socket cannot be opened, only logs a warning, since the server works without
    /// it.
    func makeAdminServer(_ router: PushServer) throws -> AdminServer? {
        guard let socket = self.configuration.adminSocket else { return nil }
        do throws(AdminSocketError) {
            let (listener, lock) = try socket.listen()
            self.logger.info("local admin socket opened", metadata: ["path": "\(socket.path)"])
            let server = HTTPServer(
                listeners: [listener],
                loops: self.loops,
                limits: .local,
                responder: LocalAdministration(
                    router,
                    admits: LocalUser.isAdmitted,
                    nameOf: LocalUser.name,
                    logger: self.logger
                ),
                opening: .init(identifiesProcesses: true)
            )
            return AdminServer(server: server, lock: lock)
        } catch {
            if case .at = self.configuration.localSocket { throw ConfigurationError("admin.socket: \(error)") }
            self.logger.warning(
                "local admin socket not opened; commands cannot ask the running server",
                metadata: ["reason": "\(error)"]
            )
            return nil
        }
    }
}

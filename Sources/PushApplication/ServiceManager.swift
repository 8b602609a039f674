import Foundation
import Glibc
import Logging
import PushDelivery
import Reactor
import ServiceLifecycle

/// The service manager that has started the process, such as systemd. The daemon informs the
/// manager when it begins to serve and when it stops. With a watchdog timeout, the daemon also
/// confirms regularly that it still answers.
///
/// The messages are those of sd_notify(3), but are sent without systemd's library.
package struct ServiceManager: Sendable {
    /// The path of a datagram socket; a path that begins with `@` is an abstract socket.
    let socket: String
    /// The manager kills a daemon that has sent no message for this long; `nil`: the manager
    /// expects no regular messages.
    let watchdogTimeout: Duration?

    /// The manager that the environment names; `nil` if it names none. Call this function once, at
    /// the start: it unsets the variables.
    ///
    /// Throws `ConfigurationError` if the variables are not valid.
    package static func take() throws(ConfigurationError) -> ServiceManager? {
        let manager = try ServiceManager(in: ProcessInfo.processInfo.environment, of: getpid())
        for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"] { unsetenv(name) }
        return manager
    }

    /// `id` is the id of this process: the variables of a watchdog may be for another process.
    init?(in environment: [String: String], of id: pid_t) throws(ConfigurationError) {
        guard let socket = environment["NOTIFY_SOCKET"] else { return nil }
        let longest = MemoryLayout.size(ofValue: sockaddr_un().sun_path)
        guard let first = socket.first, first == "/" || first == "@", socket.utf8.count < longest else {
            throw ConfigurationError("NOTIFY_SOCKET: \"\(socket)\" is not the path of a socket")
        }
        self.socket = socket
        guard let text = environment["WATCHDOG_USEC"], environment["WATCHDOG_PID"].map({ $0 == "\(id)" }) ?? true else {
            self.watchdogTimeout = nil
            return
        }
        guard let microseconds = Int64(text), microseconds > 0 else {
            throw ConfigurationError("WATCHDOG_USEC: \"\(text)\" is not a time in microseconds")
        }
        self.watchdogTimeout = .microseconds(microseconds)
    }

    /// Sends a message. A message that cannot be sent is lost, which affects only what the manager
    /// knows about the daemon.
    func notify(_ message: String) {
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let path = Array(self.socket.utf8)
        withUnsafeMutableBytes(of: &address.sun_path) { bytes in
            bytes.copyBytes(from: path)
            if path.first == UInt8(ascii: "@") { bytes[0] = 0 }
        }
        let head = MemoryLayout<sockaddr_un>.size - MemoryLayout.size(ofValue: address.sun_path)
        let length = socklen_t(head + path.count)
        let (bytes, flags) = (Array(message.utf8), Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                _ = sendto(descriptor, bytes, bytes.count, flags, address, length)
            }
        }
    }
}

/// Confirms to the service manager that the daemon still answers. Before each such message, every
/// event loop must run a job.
///
/// A disk or a provider that hangs blocks no event loop, and a restart would not help. A blocked
/// event loop answers no client any more. The daemon then sends no message, so the manager
/// restarts it.
struct WatchdogService: Service {
    let manager: ServiceManager
    let watchdogTimeout: Duration
    let loops: EventLoopGroup

    func run() async throws {
        await repeatUntilShutdown {
            for loop in self.loops.loops + [self.loops.acceptor] { await self.turn(of: loop) }
            self.manager.notify("WATCHDOG=1")
            return self.watchdogTimeout / 3
        }
    }

    /// Returns when the loop has run a job.
    private func turn(of loop: EventLoop) async {
        await withTaskExecutorPreference(loop) { await Task.yield() }
    }
}

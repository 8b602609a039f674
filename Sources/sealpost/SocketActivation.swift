import Foundation
import PushApplication
import Reactor

/// Listening sockets that the parent of this process has opened and passes on, as in
/// sd_listen_fds(3).
///
/// The sockets stay open when the process ends: a client that connects during a restart waits for
/// the next process, and is not refused.
enum SocketActivation {
    /// The first descriptor after standard input, output and error.
    private static let first: Int32 = 3

    /// Returns the passed sockets; empty if there are none. Call this function only once, at the
    /// start, because it unsets the environment variables.
    ///
    /// Throws `ConfigurationError` if the variables make no sense, or a descriptor is not a
    /// listening stream socket.
    static func takeListeners() throws(ConfigurationError) -> [Listener] {
        let descriptors = try self.descriptors(in: ProcessInfo.processInfo.environment, of: getpid())
        for name in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] { unsetenv(name) }
        return try descriptors.map { (descriptor) throws(ConfigurationError) in
            do throws(SystemError) {
                return try Listener(adopting: descriptor)
            } catch {
                throw ConfigurationError(
                    "LISTEN_FDS: descriptor \(descriptor) is not a listening stream socket: \(error)"
                )
            }
        }
    }

    /// The descriptors that the variables name for the process `id`; empty if the variables are
    /// for another process.
    static func descriptors(
        in environment: [String: String],
        of id: pid_t
    ) throws(ConfigurationError) -> Range<Int32> {
        guard let process = environment["LISTEN_PID"], let count = environment["LISTEN_FDS"] else { return 0..<0 }
        guard let process = pid_t(process), process > 0 else {
            throw ConfigurationError("LISTEN_PID: \"\(process)\" is not a process id")
        }
        guard process == id else { return 0..<0 }
        guard let count = Int32(count), case (let end, false) = self.first.addingReportingOverflow(count), count >= 0
        else { throw ConfigurationError("LISTEN_FDS: \"\(count)\" is not a count of descriptors") }
        return self.first..<end
    }
}

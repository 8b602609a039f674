import Glibc
import Logging
import Reactor

/// How many descriptors this process may have open: each connection is one.
enum DescriptorLimit {
    /// Raises the soft limit, which is low for the sake of programs with select(2), as far as the hard one allows, and
    /// warns if that is too low for so many connections.
    static func raise(for connections: Int, logger: Logger) {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        guard Listener.usableDescriptors < connections else { return }
        logger.warning(
            "the descriptor limit allows fewer connections than server.limits.maxConnections; raise it or lower the setting",
            metadata: ["limit": "\(limit.rlim_max)", "maxConnections": "\(connections)"]
        )
    }
}

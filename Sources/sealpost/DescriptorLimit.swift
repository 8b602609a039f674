import Glibc
import Logging

/// How many descriptors this process may have open: each connection is one.
enum DescriptorLimit {
    /// Raises the soft limit, which is low for the sake of programs with select(2), as far as the hard one allows, and
    /// warns if that is too low for so many connections.
    static func raise(for connections: Int, logger: Logger) {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        guard limit.rlim_max < rlim_t(clamping: connections) else { return }
        logger.warning(
            "descriptor limit is below server.limits.maxConnections; what is above it waits to be accepted",
            metadata: ["limit": "\(limit.rlim_max)", "maxConnections": "\(connections)"]
        )
    }
}

import Glibc
package import Logging
import Reactor

/// The limit of open descriptors of this process; each connection needs one.
package enum DescriptorLimit {
    /// Raises the soft limit to the hard limit, and warns if that is too low for so many
    /// connections.
    ///
    /// The soft limit is low by default for the sake of programs that use select(2).
    package static func raise(for connections: Int, logger: Logger) {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        guard Listener.usableDescriptors < connections else { return }
        logger.warning(
            "the descriptor limit allows fewer connections than server.limits.maxConnections; raise it or lower the setting",
            metadata: [
                "limit": "\(limit.rlim_max)", "needed": "\(connections + Listener.mostReservedDescriptors)",
                "maxConnections": "\(connections)",
            ]
        )
    }
}

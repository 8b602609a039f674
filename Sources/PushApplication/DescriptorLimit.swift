import Glibc
package import Logging
import Reactor

/// The limit on this process's open descriptors; each connection needs one descriptor.
package enum DescriptorLimit {
    /// Raises the soft limit to the hard limit, and warns if the hard limit is too low for this
    /// number of connections.
    ///
    /// By default the soft limit is low, for the sake of programs that use select(2).
    package static func raise(for connections: Int, logger: Logger) {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let usable = Listener.usableDescriptors
        guard usable < connections else { return }
        logger.warning(
            "the descriptor limit allows fewer connections than server.limits.maxConnections; raise it or lower the setting",
            metadata: [
                "allowed": "\(usable)", "maxConnections": "\(connections)", "limit": "\(limit.rlim_max)",
                "needed": "\(connections + Listener.mostReservedDescriptors)",
            ]
        )
    }
}

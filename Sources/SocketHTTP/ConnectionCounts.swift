package import Synchronization

/// The numbers of a server's open, refused and evicted connections. Any thread may read them.
package final class ConnectionCounts: Sendable {
    /// The number of connections that are open now.
    package let open = Atomic(0)
    /// The number of refused connections, whether or not their clients got an answer.
    package let refused = Atomic(0)
    /// The number of idle connections that the server closed to make room for other connections.
    package let evicted = Atomic(0)

    package init() {}
}

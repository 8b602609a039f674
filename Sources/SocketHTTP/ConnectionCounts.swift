package import Synchronization

/// The number of connections that a server has, has refused and has closed to make room. Any
/// thread may read it.
package final class ConnectionCounts: Sendable {
    /// The connections that are open now.
    package let open = Atomic(0)
    /// Refused connections, whether or not the client got an answer.
    package let refused = Atomic(0)
    /// Idle connections that were closed to make room.
    package let evicted = Atomic(0)

    package init() {}
}

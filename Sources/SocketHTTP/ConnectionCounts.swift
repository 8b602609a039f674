package import Synchronization

/// How many connections a server has, has refused and has closed to make room. Read from any thread.
package final class ConnectionCounts: Sendable {
    /// The connections that are open now.
    package let open = Atomic(0)
    /// Refused connections, whether or not the client was told.
    package let refused = Atomic(0)
    /// Idle connections that were closed to make room.
    package let evicted = Atomic(0)

    package init() {}
}

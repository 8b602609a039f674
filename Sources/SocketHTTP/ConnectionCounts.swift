package import Synchronization

/// How many connections a server has, has refused and has closed to make room. Read from any thread.
package final class ConnectionCounts: Sendable {
    /// Those that have a place now.
    package let open = Atomic(0)
    /// Those that got none, whether they were told so or not.
    package let refused = Atomic(0)
    /// Idle ones that were closed to make room.
    package let evicted = Atomic(0)

    package init() {}
}

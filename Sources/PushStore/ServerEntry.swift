package import Foundation

/// A server that shares a store, for operators.
package struct ServerEntry: Sendable, Hashable {
    package enum State: String, Sendable {
        case alive
        /// The server has not renewed its lease in time, and will soon be fenced.
        case late
        /// The server has ended, or was silent for too long: other servers may take over its
        /// leases.
        case gone
    }

    /// The machine and the process.
    package let name: String
    /// The version that it runs.
    package let release: String
    package let startedAt: Date
    /// The time at which the server last renewed its lease, by the store's clock. After a clean
    /// shutdown it is up to five seconds too early.
    package let heardAt: Date
    package let state: State
    /// Whether this is the server that answers the operator.
    package let isThis: Bool

    package init(name: String, release: String, startedAt: Date, heardAt: Date, state: State, isThis: Bool) {
        (self.name, self.release, self.state, self.isThis) = (name, release, state, isThis)
        (self.startedAt, self.heardAt) = (startedAt, heardAt)
    }
}

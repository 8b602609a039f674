package import Foundation

/// A server that shares a store, in the form for operators.
package struct ServerEntry: Sendable, Hashable {
    package enum State: String, Sendable {
        case alive
        /// The server has not renewed its lease in time. Other servers will soon fence it, and
        /// take over its work.
        case late
        /// The server has ended, or was silent for too long. Other servers may take over its work.
        case gone
    }

    /// The machine's name and the process's id.
    package let name: String
    /// The version of the program that the server runs.
    package let release: String
    package let startedAt: Date
    /// The time at which the server last renewed its lease, or was shut down, by the store's
    /// clock.
    package let heardAt: Date
    package let state: State
    /// Whether this is the server that the operator has asked.
    package let isThis: Bool

    package init(name: String, release: String, startedAt: Date, heardAt: Date, state: State, isThis: Bool) {
        (self.name, self.release, self.state, self.isThis) = (name, release, state, isThis)
        (self.startedAt, self.heardAt) = (startedAt, heardAt)
    }
}

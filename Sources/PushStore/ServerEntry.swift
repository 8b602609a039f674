package import Foundation

/// One of the servers that share a store, for operators.
package struct ServerEntry: Sendable, Hashable {
    package enum State: String, Sendable {
        case alive
        /// It has not renewed its number in time, and is about to be fenced.
        case late
        /// It has ended, or was silent for too long: what it had leased is anybody's.
        case gone
    }

    /// The machine and the process.
    package let name: String
    /// The version that it runs.
    package let release: String
    package let startedAt: Date
    /// When it renewed its number last, by the store's clock. Of one that has ended in order, up to five seconds before.
    package let heardAt: Date
    package let state: State
    /// Whether it is the one that answers.
    package let isThis: Bool

    package init(name: String, release: String, startedAt: Date, heardAt: Date, state: State, isThis: Bool) {
        self.name = name
        self.release = release
        self.startedAt = startedAt
        self.heardAt = heardAt
        self.state = state
        self.isThis = isThis
    }
}

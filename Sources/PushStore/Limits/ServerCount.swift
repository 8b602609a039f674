internal import Synchronization

/// The number of live servers that share the store; each server divides its limits by it.
package final class ServerCount: Sendable {
    /// A higher number of servers counts as this number.
    private static let maximum = 64

    private let count = Atomic(1)

    package init() {}

    package var current: Int { self.count.load(ordering: .relaxed) }

    package func record(_ servers: Int) {
        self.count.store(max(1, min(servers, Self.maximum)), ordering: .relaxed)
    }
}

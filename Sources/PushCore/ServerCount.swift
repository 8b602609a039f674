internal import Synchronization

/// The number of live servers that share the store. Each server divides its limits by this number.
package final class ServerCount: Sendable {
    /// The maximum count: a higher number of servers counts as this number.
    private static let maximum = 64

    private let count = Atomic(1)

    package init() {}

    package var current: Int { self.count.load(ordering: .relaxed) }

    package func record(_ servers: Int) {
        self.count.store(max(1, min(servers, Self.maximum)), ordering: .relaxed)
    }
}

package import Logging
import Synchronization

/// The level below which nothing is logged; can be changed at any time, for all loggers that share
/// it.
package final class LogThreshold: Sendable {
    private static let levels = Logger.Level.allCases

    /// An index of `levels`; atomic, since each request reads it, on all loops.
    private let index: Atomic<Int>

    package init(_ level: Logger.Level) {
        self.index = Atomic(Self.index(of: level))
    }

    var level: Logger.Level {
        get { Self.levels[self.index.load(ordering: .relaxed)] }
        set { self.index.store(Self.index(of: newValue), ordering: .relaxed) }
    }

    private static func index(of level: Logger.Level) -> Int { self.levels.firstIndex(of: level) ?? 0 }
}

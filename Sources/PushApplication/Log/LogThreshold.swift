package import Logging
import Synchronization

/// The level below which loggers log nothing. A change at any time affects all loggers that share
/// this threshold.
package final class LogThreshold: Sendable {
    private static let levels = Logger.Level.allCases

    /// The level, as an index of `levels`. It is atomic, since each request reads it, on every
    /// event loop.
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

package import Foundation
package import PushCore
internal import PushStore
internal import Synchronization

/// The chain of day keys, kept in memory instead of in a server's file.
package final class MemoryDayChain: DayChainKeeper {
    private static let folders = Mutex<[String: MemoryDayChain]>([:])

    package let place: String
    private let chain: Mutex<DayChain?>

    /// Makes a keeper; `nil` stands for a missing chain.
    package init(_ chain: DayChain?, place: String = "memory") {
        self.place = place
        self.chain = Mutex(chain)
    }

    /// Returns the same chain for all stores of a folder; the first call makes it.
    package static func shared(by folder: TemporaryFolder, from now: Date) -> MemoryDayChain {
        self.folders.withLock { folders in
            if let chain = folders[folder.path] { return chain }
            let made = MemoryDayChain(DayChain(from: Day(of: now)))
            folders[folder.path] = made
            return made
        }
    }

    /// The chain that a read of the file would return now.
    package var current: DayChain? { self.chain.withLock { $0 } }

    package func load() -> DayChain? { self.current }

    package func create(_ chain: DayChain) {
        self.chain.withLock { $0 = chain }
    }

    package func advance(to chain: DayChain) {
        self.chain.withLock { current in
            if let old = current, old.day < chain.day { current = chain }
        }
    }
}

package import Foundation
package import PushCore
internal import Synchronization

/// Keeps the day keys in memory, in place of the file that a server uses.
package final class MemoryDayChain: DayChainKeeper {
    private static let folders = Mutex<[String: MemoryDayChain]>([:])

    package let place: String
    private let chain: Mutex<DayChain?>

    /// Makes a keeper of these day keys. `nil` means that there are no day keys.
    package init(_ chain: DayChain?, place: String = "memory") {
        self.place = place
        self.chain = Mutex(chain)
    }

    /// Returns the keeper that all stores of a folder share. The first call for a folder makes it.
    package static func shared(by folder: TemporaryFolder, from now: Date) -> MemoryDayChain {
        self.folders.withLock { folders in
            if let chain = folders[folder.path] { return chain }
            let made = MemoryDayChain(DayChain(from: Day(of: now)))
            folders[folder.path] = made
            return made
        }
    }

    /// The current day keys.
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

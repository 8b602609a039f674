package import Foundation
package import PushCore

/// Where a process keeps the secret of its day keys, apart from the store.
package protocol DayChainKeeper: Sendable {
    /// The place for operators, the same at each start.
    var place: String { get }

    /// The chain; `nil` if there is none yet.
    func load() throws -> DayChain?

    /// Stores the first chain. Throws if there is one.
    func create(_ chain: DayChain) throws

    /// Replaces the chain by a later one, and destroys the one that was there; leaves one that is later still.
    func advance(to chain: DayChain) throws
}

/// What a store knows of the keys of days.
package struct DayKeyReport: Sendable {
    /// A process, by the place where it keeps its chain, and how far it has destroyed.
    package struct Holder: Sendable, Hashable {
        package let place: String
        /// The first day whose key it had when it was last heard of.
        package let day: Day
        package let at: Date

        package init(place: String, day: Day, at: Date) {
            (self.place, self.day, self.at) = (place, day, at)
        }
    }

    /// A day, and the value that identifies the chain on it; `nil` before the first server with day keys.
    package let check: (day: Day, value: Data)?
    /// Whether new payloads are sealed with day keys: all servers have them.
    package let isSealing: Bool
    package let holders: [Holder]

    package init(check: (day: Day, value: Data)?, isSealing: Bool, holders: [Holder]) {
        (self.check, self.isSealing, self.holders) = (check, isSealing, holders)
    }

    /// Throws `StoreError.wrongDayKeys` if the chain is not the one that the store's servers have, or if it is missing.
    package func check(_ chain: DayChain?, at place: String) throws(StoreError) {
        guard let check else { return }
        guard let chain else {
            let others = self.holders.map(\.place).sorted().joined(separator: ", ")
            throw .wrongDayKeys(reason: "\(place) is missing: copy it from another server: \(others)")
        }
        // A store that was not used for a year has no value for the days since.
        guard let value = chain.checkValue(of: check.day), value != check.value else { return }
        throw .wrongDayKeys(reason: "\(place) is not the file of this database's servers")
    }
}

/// What one turn of the day keys has done.
package struct DayKeyTurn: Sendable, Hashable {
    /// The keys of all days before this one are destroyed in this process; `nil` if that was so before.
    package var destroyedBefore: Day?
    /// Payloads that may be read once and were not taken: sealed anew.
    package var renewed = 0
    /// Payloads that may be read once and whose key was destroyed before: erased, as in a backup that was put back.
    package var erased = 0
    /// Whether day keys seal from now on, and did not before.
    package var begins = false

    package init() {}
}

extension DayKeyReport {
    /// The last moment at which the key of a day may be needed: clocks differ, and what expires at its end is still answered.
    package static let grace: TimeInterval = 3600

    /// The first day whose key is needed at a moment.
    package static func firstDay(at now: Date) -> Day { Day(of: now - self.grace) }

    /// The places whose keys of past days are not destroyed, though those of others are.
    package func late(at now: Date) -> [Holder] {
        // Each takes its turn within minutes.
        let day = Self.firstDay(at: now - Self.grace)
        return self.holders.filter { $0.day < day }
    }
}

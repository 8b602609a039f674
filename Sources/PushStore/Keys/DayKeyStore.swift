package import Foundation
package import PushCore

/// Keeps the secret of a server's day keys apart from the store.
package protocol DayChainKeeper: Sendable {
    /// The place for operators, the same at each start.
    var place: String { get }

    /// The chain; `nil` if there is none yet.
    func load() throws -> DayChain?

    /// Stores the first chain. Throws if there is one.
    func create(_ chain: DayChain) throws

    /// Replaces the chain by a later one, and destroys the stored one; keeps a stored chain that
    /// is later still.
    func advance(to chain: DayChain) throws
}

/// The state of the day keys in a store.
package struct DayKeyReport: Sendable {
    /// A server, by the place of its chain, and the day before which it has destroyed its keys.
    package struct Holder: Sendable, Hashable {
        package let place: String
        /// The first day whose key the server had at its last report.
        package let day: Day
        package let at: Date

        package init(place: String, day: Day, at: Date) {
            (self.place, self.day, self.at) = (place, day, at)
        }
    }

    /// A day, and the value that identifies the chain on it; `nil` before the first server with
    /// day keys.
    package let check: (day: Day, value: Data)?
    /// Whether day keys encrypt new payloads, since all servers have them.
    package let isSealing: Bool
    package let holders: [Holder]

    package init(check: (day: Day, value: Data)?, isSealing: Bool, holders: [Holder]) {
        (self.check, self.isSealing, self.holders) = (check, isSealing, holders)
    }

    /// Throws `StoreError.wrongDayKeys` if the chain is not the one that the store's servers have,
    /// or if it is missing.
    package func check(_ chain: DayChain?, at place: String) throws(StoreError) {
        guard let check else { return }
        guard let chain else {
            let others = self.holders.map(\.place).sorted().joined(separator: ", ")
            throw .wrongDayKeys(reason: "\(place) is missing; copy it from another server: \(others)")
        }
        // A store that was not used for a year has no value for the days since.
        guard let value = chain.checkValue(of: check.day), value != check.value else { return }
        throw .wrongDayKeys(reason: "\(place) belongs to the servers of another database")
    }
}

/// The result of one run of the day keys' cleanup.
package struct DayKeyTurn: Sendable, Hashable {
    /// The server has destroyed the keys of all days before this one; `nil` if it had destroyed
    /// them before.
    package var destroyedBefore: Day?
    /// The number of read-once payloads that nobody has taken, and that were encrypted again.
    package var renewed = 0
    /// The number of read-once payloads that were erased because their key was destroyed before,
    /// as in a restored backup.
    package var erased = 0
    /// Whether day keys encrypt from now on, and did not before.
    package var begins = false

    package init() {}
}

extension DayKeyReport {
    /// How long after its end the key of a day may be needed: clocks differ, and a payload that
    /// expires at the day's end is still answered.
    package static let grace: TimeInterval = 3600

    /// The first day whose key is needed at a moment.
    package static func firstDay(at now: Date) -> Day { Day(of: now - self.grace) }

    /// The places whose keys of past days exist, though other servers have destroyed theirs.
    package func late(at now: Date) -> [Holder] {
        // Each server destroys its keys within minutes.
        let day = Self.firstDay(at: now - Self.grace)
        return self.holders.filter { $0.day < day }
    }
}

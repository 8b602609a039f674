package import Foundation
package import PushCore

/// Keeps the secret of a server's day keys apart from the store.
package protocol DayChainKeeper: Sendable {
    /// The place of the secret, as operators see it; it is the same at each start.
    var place: String { get }

    /// The stored chain, which gives the day keys; `nil` if no chain is stored yet.
    func load() throws -> DayChain?

    /// Stores the first chain. Throws if a chain is stored already.
    func create(_ chain: DayChain) throws

    /// Stores a chain that begins at a later day, and destroys the stored one. Does nothing if the
    /// stored chain begins later than `chain`.
    func advance(to chain: DayChain) throws
}

/// The state of the day keys in a store.
package struct DayKeyReport: Sendable {
    /// A server, identified by the place of its chain of day keys, and the day before which it has
    /// destroyed its keys.
    package struct Holder: Sendable, Hashable {
        package let place: String
        /// The first day whose key the server had at its last report.
        package let day: Day
        package let at: Date

        package init(place: String, day: Day, at: Date) {
            (self.place, self.day, self.at) = (place, day, at)
        }
    }

    /// A day, and the value that identifies the chain of day keys on that day; `nil` before the
    /// first server with day keys.
    package let check: (day: Day, value: Data)?
    /// Whether day keys encrypt new payloads: they do so once all servers have them.
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
        // A chain that has destroyed the keys of that day cannot compute its value, and is not
        // compared.
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

    /// The servers that still have keys of past days which they should have destroyed.
    package func late(at now: Date) -> [Holder] {
        // Each server destroys its keys within minutes after the grace, so a second grace is long
        // enough.
        let day = Self.firstDay(at: now - Self.grace)
        return self.holders.filter { $0.day < day }
    }
}

package import Foundation
package import PushCore

/// The state of the day keys in a store.
package struct DayKeyReport: Sendable {
    /// A server's last report about its chain of day keys. `place` identifies the chain. The keys
    /// of the days before `day` are destroyed.
    package struct Holder: Sendable, Hashable {
        package let place: String
        /// The first day whose key the server had at its last report.
        package let day: Day
        package let at: Date

        package init(place: String, day: Day, at: Date) {
            (self.place, self.day, self.at) = (place, day, at)
        }
    }

    /// A day, and a value that is computed from the day's key. All servers must have the chain of
    /// day keys that gives this value. `nil` until a server with day keys has opened the store.
    package let check: (day: Day, value: Data)?
    /// Whether the servers encrypt new payloads with day keys. They do so once all servers have
    /// day keys.
    package let isSealing: Bool
    package let holders: [Holder]

    package init(check: (day: Day, value: Data)?, isSealing: Bool, holders: [Holder]) {
        (self.check, self.isSealing, self.holders) = (check, isSealing, holders)
    }

    /// Throws `StoreError.wrongDayKeys` if the chain is missing, or if it is not the chain of the
    /// servers that use this store.
    package func check(_ chain: DayChain?, at place: String) throws(StoreError) {
        guard let check else { return }
        guard let chain else {
            let others = self.holders.map(\.place).sorted().joined(separator: ", ")
            throw .wrongDayKeys(reason: "\(place) is missing; copy it from another server: \(others)")
        }
        // If the chain has already destroyed the key of that day, it cannot compute the value, so
        // nothing is compared.
        guard let value = chain.checkValue(of: check.day), value != check.value else { return }
        throw .wrongDayKeys(reason: "\(place) belongs to the servers of another database")
    }
}

/// The result of one run that destroys old day keys.
package struct DayKeyTurn: Sendable, Hashable {
    /// The run has destroyed the keys of all days before this day; `nil` if it has destroyed none.
    package var destroyedBefore: Day?
    /// The number of read-once payloads that were encrypted again, because a recipient had not
    /// collected them yet.
    package var renewed = 0
    /// The number of read-once payloads that were erased, because their key had already been
    /// destroyed, as after the restore of a backup.
    package var erased = 0
    /// Whether the servers have begun to encrypt with day keys during this run.
    package var begins = false

    package init() {}
}

extension DayKeyReport {
    /// How many seconds the key of a day is kept after that day. Clocks differ, and a payload that
    /// expires at the end of the day may still be on its way to a client.
    package static let grace: TimeInterval = 3600

    /// The first day whose key may still be needed at the time `now`.
    package static func firstDay(at now: Date) -> Day { Day(of: now - self.grace) }

    /// The servers that still have keys of past days, although they should have destroyed them.
    package func late(at now: Date) -> [Holder] {
        // Each server destroys its keys within minutes after `grace`. A server that still has them
        // after twice `grace` is late.
        let day = Self.firstDay(at: now - Self.grace)
        return self.holders.filter { $0.day < day }
    }
}

import Foundation
import Logging
import PushCore
import PushStore
import ServiceLifecycle

/// Reports when the clock is held back, believes it again when another machine confirms it, and keeps its mark in the file.
struct ClockService: Service {
    private static let interval = Duration.seconds(10)
    /// The file is written once in so many intervals.
    private static let turnsUntilSaved = 6
    /// The other clock agrees for ten minutes before it confirms: it may be a container's, which has this machine's clock.
    static let turnsUntilConfirmed = 60

    let clock: HeldClock
    let file: ClockFile
    let logger: Logger
    /// The time by another machine; `nil` if there is none, or if it cannot be asked.
    let otherClock: @Sendable () async -> Date?

    /// Runs at once and then at intervals, until shutdown.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            var watch = Watch()
            while !Task.isCancelled {
                if watch.turns.isMultiple(of: Self.turnsUntilSaved) { await self.save() }
                await self.turn(&watch)
                // Shutdown ends the sleep early, and the loop's condition sees it.
                try? await Task.sleep(for: Self.interval)
            }
        }
        await self.save()
    }

    /// What the service has seen so far.
    struct Watch {
        fileprivate var turns = 0
        fileprivate var wasHeld = false
        /// How many turns in a row the other clock has agreed with the machine's.
        fileprivate var agreements = 0
    }

    func turn(_ watch: inout Watch) async {
        watch.turns += 1
        guard let ahead = self.clock.held else {
            if watch.wasHeld { self.logger.notice("machine's clock is believed again") }
            (watch.wasHeld, watch.agreements) = (false, 0)
            return
        }
        if !watch.wasHeld {
            self.logger.error(
                "machine's clock jumped ahead and is not believed; data expires by the time before",
                metadata: ["ahead": "\(Int(ahead)) s", "run": "sealpost clock accept"]
            )
        }
        watch.wasHeld = true
        watch.agreements = await self.isConfirmed() ? watch.agreements + 1 : 0
        if watch.agreements == Self.turnsUntilConfirmed {
            self.clock.accept()
            await self.save()
        }
    }

    /// Believes the machine's clock, for the actor, and writes it to the audit.
    ///
    /// Returns the time; `nil` if the clock was believed already. Throws `StoreError`.
    func accept(in store: any Store, for actor: AuditRecord.Actor) async throws -> Date? {
        guard let ahead = self.clock.held else { return nil }
        self.clock.accept()
        await self.save()
        let now = self.clock.now()
        try await store.note(AuditRecord(.acceptClock, of: "\(Int(ahead)) s ahead", by: actor, at: now))
        return now
    }

    private func isConfirmed() async -> Bool {
        guard let other = await self.otherClock(), let ahead = self.clock.held else { return false }
        return abs(other.timeIntervalSince(self.clock.now()) - ahead) < HeldClock.longestStep
    }

    private func save() async {
        do {
            let mark = self.clock.mark
            try await onThread { try self.file.save(mark) }
        } catch {
            self.logger.warning(
                "clock's file not written; after a restart a wrong clock would be believed",
                metadata: ["error": "\(error)"]
            )
        }
    }
}

import Foundation
import Logging
import PushCore
import PushDelivery
import PushStore
import ServiceLifecycle

/// Guards against a wrong clock of this machine. If the server's clock rejects the machine's time
/// as too far ahead, this service logs the rejection. If another machine confirms the rejected
/// time, the service accepts it. The service also saves the last moment at which the clock was
/// right.
struct ClockService: Service {
    private static let interval = Duration.seconds(10)
    /// The number of checks after which the clock's file is written again.
    private static let turnsUntilSaved = 6
    /// The machine's clock is accepted if another machine's clock agrees in this number of
    /// consecutive checks: ten minutes in all. A shorter time would not do, since the other clock
    /// may be that of a container on this machine, and then equally wrong.
    static let turnsUntilConfirmed = 60
    /// A larger difference from another machine's clock, in seconds, is reported. The answer about
    /// that clock may take half as long.
    private static let longestDifference: TimeInterval = 5

    let clock: HeldClock
    let file: ClockFile
    let logger: Logger
    /// The time by the clock of another machine; `nil` if there is no other machine, or if that
    /// machine does not answer.
    let otherClock: @Sendable () async -> Date?

    /// Checks the clock at once and then at intervals, until shutdown.
    func run() async throws {
        self.reportDamage()
        await repeatUntilShutdown(Watch()) { watch in
            if watch.turns.isMultiple(of: Self.turnsUntilSaved) { await self.save() }
            await self.turn(&watch)
            return Self.interval
        }
        await self.save()
    }

    /// The state of the service between two checks of the clock.
    struct Watch {
        fileprivate var turns = 0
        fileprivate var wasHeld = false
        fileprivate var wasBehind = false
        fileprivate var wasApart = false
        /// The number of consecutive checks in which the other clock agreed with the machine's
        /// clock.
        fileprivate var agreements = 0
    }

    func turn(_ watch: inout Watch) async {
        watch.turns += 1
        self.reportBehind(&watch)
        guard let ahead = self.clock.held else {
            if watch.wasHeld { self.logger.notice("machine's clock accepted again") }
            (watch.wasHeld, watch.agreements) = (false, 0)
            return await self.reportDifference(&watch)
        }
        if !watch.wasHeld {
            self.logger.error(
                "machine's clock jumped ahead and is rejected; data expires by the time shown here",
                metadata: [
                    "ahead": "\(Self.text(ahead))", "time": "\(self.clock.now().ISO8601Format())",
                    "run": "sealpost clock accept",
                ]
            )
        }
        watch.wasHeld = true
        watch.agreements = await self.isConfirmed() ? watch.agreements + 1 : 0
        if watch.agreements == Self.turnsUntilConfirmed {
            self.clock.accept()
            await self.save()
        }
    }

    /// Accepts the machine's clock on the actor's command, and records the acceptance in the
    /// audit.
    ///
    /// Returns the time; `nil` if the clock was accepted already. Throws `StoreError`.
    func accept(in store: any Store, for actor: AuditRecord.Actor) async throws -> Date? {
        let subject =
            self.clock.held.map { "\(Self.text($0)) ahead" } ?? self.clock.behind.map { "\(Self.text($0)) behind" }
        self.clock.accept()
        await self.save()
        guard let subject else { return nil }
        let now = self.clock.now()
        try await store.record(AuditRecord(.acceptClock, of: subject, by: actor, at: now))
        return now
    }

    /// A difference between clocks in the form for operators, such as `100.0 days`.
    static func text(_ seconds: TimeInterval) -> String {
        let (value, unit) = seconds < 86_400 ? (seconds / 3600, "hours") : (seconds / 86_400, "days")
        return "\((value * 10).rounded() / 10) \(unit)"
    }

    private func reportDamage() {
        do {
            _ = try self.file.load()
        } catch {
            self.logger.warning(
                "clock file damaged; the machine's clock is accepted as it is",
                metadata: ["error": "\(error)"]
            )
        }
    }

    private func reportBehind(_ watch: inout Watch) {
        let behind = self.clock.behind
        if let behind, !watch.wasBehind {
            self.logger.warning(
                "machine's clock is far behind an earlier accepted time; until you accept it, a jump ahead to that time is not noticed",
                metadata: ["behind": "\(Self.text(behind))", "run": "sealpost clock accept"]
            )
        }
        watch.wasBehind = behind != nil
    }

    /// Servers that share a database expire data and end leases by their own clocks.
    private func reportDifference(_ watch: inout Watch) async {
        let difference = await self.otherClock().map { self.clock.now().timeIntervalSince($0) } ?? 0
        let isApart = abs(difference) > Self.longestDifference
        if isApart, !watch.wasApart {
            self.logger.warning(
                "machine's clock differs from the database's; the clocks of all servers must agree",
                metadata: ["seconds": "\(Int(difference.rounded()))"]
            )
        }
        watch.wasApart = isApart
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
                "clock file not written; after a restart a wrong clock would be accepted",
                metadata: ["error": "\(error)"]
            )
        }
    }
}

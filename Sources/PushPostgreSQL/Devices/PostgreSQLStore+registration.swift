package import Foundation
internal import PostgreSQL
package import PushCore
package import PushStore

extension PostgreSQLStore {
    package static var movingPage: Int { 500 }
    /// The maximum number of runs of a registration. It runs again if another request registers
    /// the same handle at the same time.
    private static let attempts = 10

    /// Runs a registration: reads the facts that `decide` asks for, and writes the plan that it
    /// returns. If another transaction registers the same handle at the same time, runs again, and
    /// then finds that registration.
    package func follow(
        _ decision: RegistrationDecision,
        page: Int,
        _ decide: @escaping @Sendable (RegistrationFacts) throws -> RegistrationStep
    ) async throws -> RegistrationEnd {
        for _ in 0..<Self.attempts {
            do {
                return try await self.write { tx in
                    try await Registrar(tx: tx, decision: decision, page: page).run(decide)
                }
            } catch is Registrar.HandleTaken {}
        }
        throw StoreError.busy
    }

    package func moveQueued(ofDevice device: Int64, page: Int, now: Date) async throws -> Int {
        try await self.write { try await $0.moveQueued(ofDevice: device, page: page, now: now) }
    }

    package func change(
        _ change: TopicChange,
        of id: RegistrationID,
        for user: User,
        by record: AuditRecord?,
        now: Date
    ) async throws -> TopicOutcome {
        let decision = RegistrationDecision(user, with: nil, by: record, within: nil, self.sealing, now: now)
        return try await self.write { tx in
            try await Registrar(tx: tx, decision: decision, page: Self.movingPage).change(change, of: id)
        }
    }

    package func move(
        device: Int64,
        handleKey: Data,
        from lane: Lane,
        to other: Lane,
        page: Int,
        now: Date
    ) async throws -> Int? {
        try await self.write { tx in
            let moved = try await tx.query(Self.moveDevice, device, other.description, lane.description, handleKey)
            guard moved.count == 1 else { return nil }
            return try await tx.moveQueued(ofDevice: device, page: page, now: now)
        }
    }

    /// Moves a device to another environment. Also deletes the times of its accepted pushes: a
    /// push that the old environment accepted does not show that the new environment works.
    private static let moveDevice = """
        with moved as (
            update device set lane = $2, environment_moves = environment_moves + 1
            where number = $1 and lane = $3 and handle_key = $4 and retired_at is null
                and environment_moves < \(RegistrationDecision.maximumMoves) returning number),
        accepted as (delete from device_push where device in (select number from moved))
        select number from moved
        """
}

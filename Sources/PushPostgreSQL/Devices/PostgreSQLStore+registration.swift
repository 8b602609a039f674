package import Foundation
internal import PostgreSQL
package import PushCore
package import PushStore

extension PostgreSQLStore {
    package func register(
        _ registration: DeviceRegistration,
        as id: RegistrationID,
        for user: User,
        with token: TokenPrefix?,
        by record: AuditRecord?,
        within bounds: StorageBounds?,
        page: Int?,
        now: Date
    ) async throws -> RegisterOutcome {
        let page = page ?? Self.movingPage
        let (outcome, device) = try await self.writeRegistration { tx in
            let registrar = self.registrar(tx, user, token, record, bounds, page: page, now: now)
            return try await registrar.register(registration, as: id)
        }
        guard let device, case .registered(let moved) = outcome else { return outcome }
        return .registered(moved: try await self.moveRemaining(ofDevice: device, after: moved, page: page, now: now))
    }

    package func confirm(
        _ code: String,
        for id: RegistrationID,
        of user: User,
        with token: TokenPrefix?,
        by record: AuditRecord?,
        within bounds: StorageBounds?,
        now: Date
    ) async throws -> ConfirmOutcome {
        let page = Self.movingPage
        let (outcome, device) = try await self.writeRegistration { tx in
            let registrar = self.registrar(tx, user, token, record, bounds, page: page, now: now)
            return try await registrar.confirm(code, for: id)
        }
        guard let device, case .registered(let moved) = outcome else { return outcome }
        return .registered(moved: try await self.moveRemaining(ofDevice: device, after: moved, page: page, now: now))
    }

    package func change(
        _ change: TopicChange,
        of id: RegistrationID,
        for user: User,
        by record: AuditRecord?,
        now: Date
    ) async throws -> TopicOutcome {
        try await self.write { tx in
            let registrar = self.registrar(tx, user, nil, record, nil, page: Self.movingPage, now: now)
            return try await registrar.change(change, of: id)
        }
    }

    package func move(
        device: Int64,
        handle: String,
        from lane: Lane,
        to other: Lane,
        page: Int?,
        now: Date
    ) async throws -> Bool {
        guard let key = DeviceHandle(handle).map(self.sealing.index.hash) else { return false }
        let page = page ?? Self.movingPage
        let first = try await self.write { tx -> Int? in
            let moved = try await tx.query(Self.moveDevice, device, other.description, lane.description, key)
            guard moved.count == 1 else { return nil }
            return try await Self.moveQueued(tx, ofDevice: device, page: page, now: now)
        }
        guard let first else { return false }
        _ = try await self.moveRemaining(ofDevice: device, after: first, page: page, now: now)
        return true
    }

    /// Pushes accepted in the other environment do not show that this one works.
    private static let moveDevice = """
        with moved as (
            update device set lane = $2, environment_moves = environment_moves + 1
            where number = $1 and lane = $3 and handle_key = $4 and environment_moves < 2 and retired_at is null
            returning number),
        accepted as (delete from device_push where device in (select number from moved))
        select number from moved
        """

    // MARK: - Private

    /// The number of pushes that move to a device's new lane in one transaction.
    private static let movingPage = 500
    /// Attempts for a registration while other requests register its handle at the same time.
    private static let attempts = 10

    private func registrar(
        _ tx: WriteTransaction,
        _ user: User,
        _ token: TokenPrefix?,
        _ record: AuditRecord?,
        _ bounds: StorageBounds?,
        page: Int,
        now: Date
    ) -> Registrar {
        Registrar(
            tx: tx,
            sealing: self.sealing,
            user: user,
            token: token,
            record: record,
            bounds: bounds,
            page: page,
            now: now
        )
    }

    /// Retries a transaction if another one has registered its handle at the same time; the retry
    /// finds that handle.
    private func writeRegistration<Value: Sendable>(
        _ body: @Sendable (WriteTransaction) async throws -> Value
    ) async throws -> Value {
        for _ in 0..<Self.attempts {
            do {
                return try await self.write([], body)
            } catch is Registrar.HandleTaken {}
        }
        throw StoreError.busy
    }

    /// Moves the pushes that remain after the first page; returns how many pushes have moved in
    /// total.
    ///
    /// Each further page has its own transaction. If a push is leased before its page, the lease
    /// moves it.
    private func moveRemaining(ofDevice device: Int64, after first: Int, page: Int, now: Date) async throws -> Int {
        var (moved, last) = (first, first)
        while last == page {
            last = try await self.write { try await Self.moveQueued($0, ofDevice: device, page: page, now: now) }
            moved += last
        }
        return moved
    }
}

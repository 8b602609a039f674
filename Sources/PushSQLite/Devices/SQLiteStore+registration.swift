package import Foundation
internal import GRDB
package import PushCore
package import PushStore

extension SQLiteStore {
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
        let registrar = self.registrar(user, token, record, bounds, page: page, now: now)
        let (outcome, device) = try await self.writer.write { try registrar.register(registration, as: id, $0) }
        guard let device, case .registered(let moved) = outcome else { return outcome }
        return .registered(
            moved: try await self.moveRemaining(ofDevice: device, after: moved, page: registrar.page, now: now)
        )
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
        let registrar = self.registrar(user, token, record, bounds, page: nil, now: now)
        let (outcome, device) = try await self.writer.write { try registrar.confirm(code, for: id, $0) }
        guard let device, case .registered(let moved) = outcome else { return outcome }
        return .registered(
            moved: try await self.moveRemaining(ofDevice: device, after: moved, page: registrar.page, now: now)
        )
    }

    package func change(
        _ change: TopicChange,
        of id: RegistrationID,
        for user: User,
        by record: AuditRecord?,
        now: Date
    ) async throws -> TopicOutcome {
        let registrar = self.registrar(user, nil, record, nil, page: nil, now: now)
        return try await self.writer.write { try registrar.change(change, of: id, $0) }
    }

    private func registrar(
        _ user: User,
        _ token: TokenPrefix?,
        _ record: AuditRecord?,
        _ bounds: StorageBounds?,
        page: Int?,
        now: Date
    ) -> Registrar {
        Registrar(
            writer: self.writer,
            pusher: self.pusher,
            audit: self.audit,
            user: user,
            token: token,
            record: record,
            bounds: bounds,
            page: page ?? Self.fanoutPage,
            now: now
        )
    }

    /// Moves the pushes that the first page has left; returns the total number of moved pushes.
    ///
    /// Each further page has its own transaction: a push that is leased before its page is moved
    /// by the lease.
    func moveRemaining(ofDevice device: Int64, after first: Int, page: Int, now: Date) async throws -> Int {
        var (moved, last) = (first, first)
        while last == page {
            last = try await self.writer.write { try Self.moveQueued($0, ofDevice: device, page: page, now: now) }
            moved += last
        }
        return moved
    }
}

package import Foundation
package import PushCore
package import PushStore
internal import SQLite

/// The leases of read-once payloads. A recipient's first fetch begins a lease; until the lease
/// ends, the recipient may fetch the payload again. When no recipient waits for the payload any
/// more, it is erased.
extension SQLiteStore {
    package func lease(
        _ id: NotificationID,
        to user: Int64,
        until end: Date,
        recording record: AuditRecord?,
        now: Date
    ) async throws -> PayloadLease {
        try await self.write(by: record, on: .granted) { db in
            let leased = try db.run(
                """
                update untaken set leased_until = \(end.milliseconds)
                where notification_id = \(id.rawValue) and user_id = \(user) and leased_until is null
                    and exists (
                        select 1 from notification where id = \(id.rawValue) and expires_at > \(now.milliseconds)
                            and payload is not null)
                """
            )
            guard leased == 1 else { return try Self.state(of: id, for: user, db, now: now).leased(now) }
            try db.run(
                """
                update recipient set fetched_at = coalesce(fetched_at, \(now.milliseconds))
                where notification_id = \(id.rawValue) and user_id = \(user)
                """
            )
            return .granted
        }
    }

    package func take(
        _ id: NotificationID,
        by user: Int64,
        recording record: AuditRecord?,
        now: Date
    ) async throws -> TakeOutcome {
        try await self.write(by: record, on: .taken) { db in
            let outcome = try Self.state(of: id, for: user, db, now: now).taking
            if outcome == .taken { try self.endLease(of: id, by: user, db, now: now) }
            return outcome
        }
    }

    package func endLeases(now: Date, limit: Int) async throws -> Date? {
        let (next, orders) = try await self.writer.write(.housekeeping) { db in
            // The query requests one row more than `limit`: the end of the additional lease says
            // when this function must be called again.
            let leases = try db.all(SQL(sql: Self.nextLeases), limit + 1) {
                try (
                    notification: $0.integer("notification_id"), user: $0.integer("user_id"),
                    end: $0.integer("leased_until"), app: AppName(stored: $0.optionalText("app"))
                )
            }
            let ended = leases.prefix(limit).prefix { $0.end <= now.milliseconds }
            for lease in ended {
                guard let id = NotificationID(rawValue: lease.notification) else { continue }
                try self.endLease(of: id, by: lease.user, db, now: now)
            }
            return (
                leases.dropFirst(ended.count).first.map { Date(milliseconds: $0.end) },
                ended.map { LookOrder(user: $0.user, app: $0.app) }
            )
        }
        for order in orders { self.lookBook.record(order) }
        return next
    }

    static let nextLeases = """
        select notification_id, user_id, leased_until, (select app from notification where id = notification_id) as app
        from untaken where leased_until is not null
        order by leased_until limit ?
        """

    /// Records that a recipient no longer waits for a payload.
    func recordTaken(_ id: Int64, by user: Int64, _ db: Database) throws {
        let noted = try db.run("delete from untaken where notification_id = \(id) and user_id = \(user)")
        if noted > 0 { try self.eraseIfTaken(id, db) }
    }

    /// Erases a read-once payload if no recipient waits for it and its fan-out has ended.
    func eraseIfTaken(_ id: Int64, _ db: Database) throws {
        let erased = try db.run(
            """
            update notification set payload = null, alert = null
            where id = \(id) and is_read_once and payload is not null
                and not exists (select 1 from untaken where notification_id = \(id))
                and not exists (select 1 from fanout where notification_id = \(id))
            """
        )
        if erased > 0 { self.writer.recordErasure() }
    }

    /// Selects the notifications up to a change number whose read-once payloads a user has not
    /// collected.
    static let untakenByUser = """
        select r.notification_id from recipient r indexed by recipient_by_user
        cross join untaken u on u.notification_id = r.notification_id and u.user_id = r.user_id
        where r.user_id = ? and r.change <= ?
        """

    private func endLease(of id: NotificationID, by user: Int64, _ db: Database, now: Date) throws {
        try self.hide(id, from: user, reason: PushReason.taken, db, now: now)
        try self.recordTaken(id.rawValue, by: user, db)
    }
}

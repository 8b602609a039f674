package import Foundation
internal import PostgreSQL
package import PushCore
internal import PushStore

extension PostgreSQLStore {
    package func streamOpened(
        for devices: [RegistrationID],
        ofUser user: Int64,
        after last: NotificationID?,
        now: Date
    ) async throws -> Int {
        try await self.makeDue(ofUser: user, after: last, now: now) { [membership] tx in
            let opened = try await tx.query(Self.openStreams, devices.map(\.description), membership.number)
            try await tx.markShared(ofDevices: opened.map { try $0.integer() })
            return opened
        }
    }

    package func makeDue(
        for devices: [RegistrationID],
        ofUser user: Int64,
        after last: NotificationID?,
        now: Date
    ) async throws -> Int {
        try await self.makeDue(ofUser: user, after: last, now: now) { tx in
            try await tx.query("select number from device where id = any($1::text[])", devices.map(\.description))
        }
    }

    /// Makes pushes due that wait for some devices of one user. The closure `devices` returns the
    /// numbers of these devices.
    private func makeDue(
        ofUser user: Int64,
        after last: NotificationID?,
        now: Date,
        _ devices: @Sendable (WriteTransaction) async throws -> Rows
    ) async throws -> Int {
        while true {
            let woken: Int? = try await self.write { tx in
                // A post that has found no stream of the device still holds the lock on the user's
                // counter of changes. This statement waits for that lock, so the post's push
                // becomes due, too.
                try await tx.lockCounters(of: [user])
                let numbers = try await devices(tx).map { try $0.integer() }
                if numbers.isEmpty { return 0 }
                if let last {
                    let lost = try await tx.query(Self.sendAgain, numbers, user, last.rawValue, now.milliseconds)
                    for row in lost { tx.count(.enqueued, lane: try row.text()) }
                    if lost.count == WakePace.page { return nil }
                }
                return try await tx.wakePushes(ofDevices: numbers, now: now)
            }
            if let woken { return woken }
        }
    }

    /// Inserts the rows of streams. Each stream's time is later than that of all earlier streams
    /// of its device, even if the database's clock was set back.
    static let openStreams = """
        insert into stream (device, node, since)
        select d.number, $2, greatest(
            \(DatabaseClock.now),
            (select max(o.since) + 1 from stream o where o.device = d.number))
        from device d where d.id = any($1::text[]) order by d.number
        on conflict (device, node) do update set since = excluded.since
        returning device
        """

    /// Enqueues a page of pushes again, without a due time, that a stream has accepted, but whose
    /// notifications the user has not fetched. `$3` is the last notification that the client has
    /// received. The search begins at the time when the first of the devices accepted that
    /// notification, and so reads none of the older pushes.
    ///
    /// A push is left out if a newer one with the same collapse key has replaced it.
    static let sendAgain = """
        with later as materialized (
            select x.notification_id, x.device from push_end x
            where x.device = any($1::bigint[]) and x.provider_id = 'stream' and x.notification_id <> $3
                and x.settled_at >= (
                    select min(a.settled_at) from pg_catalog.unnest($1::bigint[]) as d (device)
                    \(DuePush.lookup.join(
                        "settled_at", of: "push_end", as: "a", with: "d", ["notification_id": "$3"],
                        condition: "and state = 'accepted'"
                    )))),
        lost as materialized (
            select x.notification_id, x.device from later x
            join recipient r on r.notification_id = x.notification_id and r.user_id = $2
            join notification n on n.id = x.notification_id
            where r.fetched_at is null and r.dismissed_at is null and n.expires_at > $4 and n.payload is not null
                and coalesce((
                    select c.notification_id from collapse c where c.device = x.device and c.collapse_id = n.collapse_id
                ), x.notification_id) = x.notification_id
            limit \(WakePace.page)),
        gone as (
            delete from push_end x using lost l where \(DuePush.equal("x", "l"))
            returning x.notification_id, x.device, x.user_id, x.lane, x.is_bulk, x.attempts),
        again as (
            insert into push (notification_id, device, user_id, lane, is_bulk, attempts)
            select notification_id, device, user_id, lane, is_bulk, attempts from gone
            on conflict (notification_id, device) do nothing)
        select lane from gone
        """
}

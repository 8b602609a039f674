package import Foundation
internal import GRDB
package import PushCore

/// What devices are sent that hold an event stream open, and are often not there.
extension Reader {
    /// Whether a push to one of the devices waits for a later time.
    package func isAnythingWaiting(for devices: [RegistrationID], now: Date) throws(StoreError) -> Bool {
        try self.read { db in
            let waiting = Store.waiting(for: devices, now: now)
            return try Bool.fetchOne(
                db,
                SQLRequest(literal: "select exists (select 1 from delivery where \(waiting))")
            ) ?? false
        }
    }
}

extension Store {
    /// Makes due at once what waits for the devices; returns how many pushes that are.
    ///
    /// With `last`, the last that the devices have seen, also what was accepted with it or after it and has not been
    /// fetched since: it may have been lost on its way. Such a push counts as enqueued once more.
    package func makeDue(
        for devices: [RegistrationID],
        ofUser user: Int64,
        after last: NotificationID?,
        now: Date
    ) async throws -> Int {
        try await self.writer.write { db in
            try db.execute(
                literal: """
                    update delivery set due_at = \(now.milliseconds) where \(Self.waiting(for: devices, now: now))
                    """
            )
            let waiting = db.changesCount
            guard let last else { return waiting }
            return try waiting + Self.requeue(db, for: devices, ofUser: user, after: last, now: now)
        }
    }

    // MARK: - Private

    private static func numbers(of devices: [RegistrationID]) -> SQL {
        "(select number from device where id in \(devices.map(\.description)))"
    }

    fileprivate static func waiting(for devices: [RegistrationID], now: Date) -> SQL {
        """
        device in \(self.numbers(of: devices)) and settled_at is null and state = 'queued'
            and due_at > \(now.milliseconds)
        """
    }

    private static func requeue(
        _ db: Database,
        for devices: [RegistrationID],
        ofUser user: Int64,
        after last: NotificationID,
        now: Date
    ) throws -> Int {
        let devices = self.numbers(of: devices)
        return try self.count(
            .enqueued,
            db,
            """
            update delivery set state = 'queued', due_at = \(now.milliseconds), settled_at = null
            where notification_id in (
                    select n.id from recipient r join notification n on n.id = r.notification_id
                    where r.user_id = \(user) and r.fetched_at is null and r.dismissed_at is null
                        and n.expires_at > \(now.milliseconds) and n.payload is not null)
                and device in \(devices) and state = 'accepted' and is_withdrawn = 0
                and notification_id <> \(last.rawValue)
                and settled_at >= (select min(settled_at) from delivery
                    where notification_id = \(last.rawValue) and device in \(devices) and state = 'accepted')
            returning lane
            """
        )
    }
}

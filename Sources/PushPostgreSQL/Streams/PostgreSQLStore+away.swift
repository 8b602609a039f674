internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

/// Pushes to devices that had no event stream at the server that tried to send them.
extension PostgreSQLStore {
    /// If a push's device now has a stream, at this server or another one, makes the push due
    /// immediately. The other pushes wait until their devices connect.
    ///
    /// This must be the first step of its transaction: it locks the counters of changes of the
    /// devices' users. So a stream that is opened meanwhile finds the waiting pushes.
    func findStreams(
        of settlements: [PushSettlement],
        _ tx: WriteTransaction,
        now: Date
    ) async throws -> [PushSettlement] {
        let away = settlements.filter { $0.away != nil }
        if away.isEmpty { return settlements }
        try await tx.lockCounters(of: away.compactMap(\.away?.user))
        let holders = try await tx.holders(of: away.map(\.push.device))
        let number = self.membership.number
        return settlements.map { settlement in
            guard let handle = settlement.away?.handle, let holder = holders[settlement.push.device] else {
                return settlement
            }
            // If the stream's row names this server, the stream may have just ended, so this
            // server's `StreamHub` is asked.
            let isListening = DeviceHandle(handle).map(self.options.streams.isListening) ?? false
            guard holder != number || isListening else { return settlement }
            var settlement = settlement
            settlement.makeDueNow(now: now)
            return settlement
        }
    }
}

extension WriteTransaction {
    /// Removes the due times of pushes to event streams if their devices now have no stream, so
    /// that they wait until the devices connect. The caller must have locked the counters of
    /// changes of the devices' users.
    func park(ofDevices devices: [Int64]) async throws {
        if devices.isEmpty { return }
        _ = try await self.query(Self.parkPushes, devices, self.streamLanes.sorted(), PushReason.away)
    }

    /// Looks for streams before it reads the pushes: otherwise PostgreSQL may read all waiting
    /// pushes, to look for the streams of fewer.
    static let parkPushes = """
        with left_over as (
            select p.notification_id, p.device from push p
            where p.device = any(array(
                    select d.device from pg_catalog.unnest($1::int8[]) as d (device)
                    where \(StreamHolder.holder(of: "d.device")) is null))
                and p.lane = any($2::text[]) and p.due_at is not null and not p.is_withdrawn and \(DueDelivery.isFree)
            order by p.notification_id, p.device for update)
        update push p set owner = null, due_at = null, reason = $3 from left_over l
        where \(DuePush.equal("p", "l"))
        """
}

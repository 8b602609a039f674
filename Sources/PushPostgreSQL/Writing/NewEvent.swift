internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

/// An event that has no number yet.
struct NewEvent: Sendable {
    let kind: PushEvent.Kind
    let at: Date
    var notification: Int64?
    var device: Int64?
    var user: Int64?
    /// The lane (a provider's queue) of the push; the stored event contains only the lane's
    /// platform.
    var lane: String?
    var sender: Int64?
    var reason: String?

    /// The lane's name without the part after the slash. That part may be a host that only the
    /// device's owner may know.
    fileprivate var platform: String? { self.lane.map { String($0.prefix { $0 != "/" }) } }
}

extension NewEvent {
    /// The event which says that a recipient has fetched a read-once payload for the first time.
    static func collected(_ notification: Int64, by user: Int64, at time: Date, sender: Int64?) -> NewEvent {
        NewEvent(kind: .collected, at: time, notification: notification, user: user, sender: sender)
    }

    /// Inserts the events in their order; `nil` if there are no events.
    ///
    /// Locks `event_state` until the commit, so that the numbers become visible in ascending
    /// order.
    static func insertion(of events: [NewEvent]) throws -> Statement? {
        if events.isEmpty { return nil }
        return try Statement(
            Self.newEvents,
            events.count,
            events.map(\.at.milliseconds),
            events.map(\.kind.code),
            events.map(\.notification),
            events.map(\.device),
            events.map(\.user),
            events.map(\.platform),
            events.map(\.sender),
            events.map(\.reason)
        )
    }

    private static let newEvents = """
        with s as (update event_state set newest = newest + $1 where id = 1 returning newest - $1 as last)
        insert into event (number, at, kind, notification_id, device, user_id, platform, sender_id, reason)
        select s.last + e.place, e.at, e.kind, e.notification_id, e.device, e.user_id, e.platform, e.sender_id, e.reason
        from s cross join unnest(
                $2::int8[], $3::int8[], $4::int8[], $5::int8[], $6::int8[], $7::text[], $8::int8[], $9::text[])
            with ordinality as e (at, kind, notification_id, device, user_id, platform, sender_id, reason, place)
        """
}

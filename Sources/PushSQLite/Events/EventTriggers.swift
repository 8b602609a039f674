internal import Foundation
internal import PushCore
internal import PushStore
internal import SQLite

/// Triggers that store an event in the same transaction as the change that it reports.
///
/// A push gets its outcome at a dozen places of the program, some of them triggers themselves. A
/// trigger on the row of the push covers all of these places. The triggers are temporary, so they
/// exist only on the writing connection. If no events are stored, no trigger runs at all.
struct EventTriggers {
    private static let pushEnds: [PushEvent.Kind] = [.accepted, .failed, .expired, .cancelled]

    private let kinds: Set<PushEvent.Kind>

    init(_ kinds: Set<PushEvent.Kind>) { self.kinds = kinds }

    /// Creates the triggers, and determines the first event number of this process. `db` must be
    /// the connection that writes.
    func install(_ db: Database, now: Date) throws {
        if self.kinds.isEmpty { return }
        for trigger in [self.settlement, self.deletion, self.fetch, self.retirement].compactMap(\.self) {
            try db.execute(sql: "create temporary trigger " + trigger)
        }
        try Self.beginNumbers(db, now: now)
    }

    // MARK: - Private

    private var settlement: String? {
        let ends = Self.pushEnds.filter(self.kinds.contains)
        if ends.isEmpty { return nil }
        let states = ends.map { "'\($0.rawValue)'" }.joined(separator: ", ")
        let cases = ends.map { "when '\($0.rawValue)' then \($0.code)" }.joined(separator: " ")
        return """
            event_of_settlement after update of settled_at on main.push
            when old.settled_at is null and new.settled_at is not null and new.state in (\(states))
                and new.lane not like '%\(Lane.lookSuffix)'
            begin
                insert into event (at, kind, notification_id, device, user_id, platform, sender_id, reason) values (
                    new.settled_at, case new.state \(cases) end, new.notification_id, new.device, new.user_id,
                    \(Self.platform("new")), (select sender_id from notification where id = new.notification_id),
                    new.reason);
            end
            """
    }

    /// The trigger for a push that is deleted with its expired notification, before the push has
    /// an outcome.
    private var deletion: String? {
        guard self.kinds.contains(.expired) else { return nil }
        return """
            event_of_deletion after delete on main.push
            when old.settled_at is null and old.lane not like '%\(Lane.lookSuffix)'
            begin
                insert into event (at, kind, notification_id, device, user_id, platform, sender_id, reason) values (
                    coalesce(
                        (select expires_at from notification where id = old.notification_id), unixepoch() * 1000),
                    \(PushEvent.Kind.expired.code), old.notification_id, old.device, old.user_id,
                    \(Self.platform("old")), (select sender_id from notification where id = old.notification_id),
                    old.reason);
            end
            """
    }

    private var fetch: String? {
        guard self.kinds.contains(.collected) else { return nil }
        return """
            event_of_fetch after update of fetched_at on main.recipient
            when old.fetched_at is null and new.fetched_at is not null
            begin
                insert into event (at, kind, notification_id, user_id, sender_id) values (
                    new.fetched_at, \(PushEvent.Kind.collected.code), new.notification_id, new.user_id,
                    (select sender_id from notification where id = new.notification_id));
            end
            """
    }

    /// The trigger for the retirement of a device. A handle that the user has not confirmed yet (a
    /// claim) has no event, since it is no registration.
    private var retirement: String? {
        guard self.kinds.contains(.retired) else { return nil }
        return """
            event_of_retirement after update of retired_at on main.device
            when old.retired_at is null and new.retired_at is not null and old.claims_for is null
            begin
                insert into event (at, kind, device, user_id, platform, reason) values (
                    new.retired_at, \(PushEvent.Kind.retired.code), new.number, new.user_id, old.platform,
                    new.retired_reason);
            end
            """
    }

    /// The SQL expression for a push's platform: the name of its lane, without the part after the
    /// slash. That part may be a host that only the device's owner may know.
    private static func platform(_ row: String) -> String {
        "substr(\(row).lane, 1, instr(\(row).lane || '/', '/') - 1)"
    }

    /// Stores a row that is no event. It determines the event numbers of this process: the next
    /// event gets the number after this row's.
    private static func beginNumbers(_ db: Database, now: Date) throws {
        try db.run(
            """
            insert into event (number, at, kind)
            select ?1, ?2, 0 where ?1 > coalesce((select max(number) from event), 0)
            """,
            EventNumbers.first(at: now),
            now.milliseconds
        )
    }
}

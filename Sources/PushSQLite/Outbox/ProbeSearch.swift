package import Foundation
package import PushCore
package import PushStore
internal import SQLite

extension SQLiteReader {
    /// Searches for the push that tests whether the provider accepts pushes again. A reader
    /// searches, so that the writer is not blocked: the search steps over older pushes that do not
    /// meet the conditions, and a single user can have a million of them.
    package func probe(in lane: Lane, _ choice: ProbeChoice, now: Date) throws(StoreError) -> DuePush? {
        let (lane, now) = (lane.description, now.milliseconds)
        return try self.read { db in
            for wish in choice.wishes {
                for queue in Queue.allCases {
                    let push = try db.first(
                        prepared: ProbeSearch.search,
                        lane,
                        queue.rawValue,
                        now,
                        wish.isKnown,
                        wish.avoided.json
                    ) { DuePush(notification: $0.integer(0), device: $0.integer(1)) }
                    if let push { return push }
                }
            }
            return nil
        }
    }
}

extension Sequence<Int64> {
    /// The numbers as a JSON array, for SQLite's `json_each`.
    var json: String { "[\(self.map(String.init).joined(separator: ","))]" }
}

/// The search for the due push that best shows whether a provider accepts pushes again (a probe).
enum ProbeSearch {
    /// Selects the first due push that meets the conditions. Because of `cross join`, SQLite scans
    /// the due pushes in their order, and stops at the first that meets them.
    static let search = """
        select d.notification_id, d.device from delivery d cross join device v on v.number = d.device
        where d.lane = ?1 and d.is_bulk = ?2 and d.state = 'queued' and d.due_at <= ?3
            and (?4 is null or ?4 = exists (select 1 from device_push p where p.device = d.device))
            and v.user_id not in (select value from json_each(?5))
        order by d.due_at limit 1
        """

    /// Whether a push is still due in this lane.
    static func isDue(_ push: DuePush, in lane: Lane, _ db: Database, now: Date) throws -> Bool {
        try db.exists(
            """
            select 1 from delivery
            where notification_id = \(push.notification) and device = \(push.device) and lane = \(lane.description)
                and state = 'queued' and due_at <= \(now.milliseconds)
            """
        )
    }
}

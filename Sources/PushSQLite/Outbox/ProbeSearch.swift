package import Foundation
package import PushCore
package import PushStore
internal import SQLite

extension SQLiteReader {
    package func probe(in lane: Lane, _ choice: ProbeChoice, now: Date) throws(StoreError) -> DuePush? {
        try self.read { try ProbeSearch(lane, choice, now: now).first($0) }
    }
}

/// Searches the due pushes for the best probe.
///
/// The search steps over all older pushes that do not fit, and one user can have a million of
/// those; so it runs on a reader, and blocks no writer.
struct ProbeSearch {
    /// The condition that a push must meet.
    private struct Wish {
        /// `true`: the address must have an accepted push before; `false`: it must have none;
        /// `nil`: either.
        let isKnown: Bool?
        let avoids: Bool
    }

    private let lane: String
    private let now: Int64
    private let wishes: [Wish]
    private let avoided: String

    init(_ lane: Lane, _ choice: ProbeChoice, now: Date) {
        self.lane = lane.description
        self.now = now.milliseconds
        self.wishes = [
            Wish(isKnown: choice.address == .known, avoids: true),
            Wish(isKnown: nil, avoids: true),
            Wish(isKnown: nil, avoids: false),
        ]
        self.avoided = "[\(choice.avoidedUsers.map(String.init).joined(separator: ","))]"
    }

    /// The best probe, if any push is due.
    func first(_ db: Database) throws -> DuePush? {
        for wish in self.wishes {
            for queue in Queue.allCases {
                if let push = try self.first(db, queue, wish) { return push }
            }
        }
        return nil
    }

    private func first(_ db: Database, _ queue: Queue, _ wish: Wish) throws -> DuePush? {
        let avoided = wish.avoids ? self.avoided : "[]"
        return try db.first(prepared: Self.search, self.lane, queue.rawValue, self.now, wish.isKnown, avoided) {
            DuePush(notification: $0.integer(0), device: $0.integer(1))
        }
    }

    /// `cross join` makes SQLite scan the due pushes in order and stop at the first that fits.
    static let search = """
        select d.notification_id, d.device from delivery d cross join device v on v.number = d.device
        where d.lane = ?1 and d.is_bulk = ?2 and d.state = 'queued' and d.due_at <= ?3
            and (?4 is null or ?4 = exists (select 1 from device_push p where p.device = d.device))
            and v.user_id not in (select value from json_each(?5))
        order by d.due_at limit 1
        """

    /// Whether a push is still due in the lane.
    static func isDue(_ push: DuePush, in lane: Lane, _ db: Database, now: Date) throws -> Bool {
        let isDue = try db.first(
            prepared: """
                select 1 from delivery
                where notification_id = ? and device = ? and lane = ? and state = 'queued' and due_at <= ?
                """,
            push.notification,
            push.device,
            lane.description,
            now.milliseconds
        ) { _ in true }
        return isDue == true
    }
}

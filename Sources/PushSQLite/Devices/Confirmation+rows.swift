internal import Foundation
internal import GRDB
internal import PushStore

extension Confirmation {
    init?(_ db: Database, _ key: Data) throws {
        let last = try db.first(
            prepared: """
                select c.pushed_at, c.is_used, c.notification_id, c.failures, n.seed
                from confirmation c left join notification n on n.id = c.notification_id
                where c.handle_key = ?
                """,
            key
        ) { Confirmation($0) }
        guard let last else { return nil }
        self = last
    }

    private init(_ row: borrowing DirectRow) {
        self.init(
            pushedAt: Date(milliseconds: row.integer(0)),
            isUsed: row.integer(1) != 0,
            notification: row.integer(2),
            failures: row.integer(3),
            seed: row.isNull(4) ? nil : row.integer(4)
        )
    }
}

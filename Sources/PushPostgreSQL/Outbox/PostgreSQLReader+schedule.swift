package import Foundation
internal import PostgreSQL
package import PushCore
package import PushStore

extension PostgreSQLReader {
    package func isFanningOut(_ id: NotificationID) async throws(StoreError) -> Bool {
        try await self.read(
            "select exists (select 1 from fanout where notification_id = $1 and not is_set_aside)",
            id.rawValue
        ) { rows in
            try rows.first?.boolean(0) ?? false
        }
    }

    package func sendTime(of id: NotificationID) async throws(StoreError) -> Date? {
        try await self.read(
            "select due_at from scheduled where notification_id = $1 and not is_set_aside",
            id.rawValue
        ) { rows in
            try rows.first.map { Date(milliseconds: try $0.integer(0)) }
        }
    }

    package func schedule() async throws(StoreError) -> Schedule {
        try await self.read("select (select count(*) from scheduled), (\(PostgreSQLStore.firstDue))") { rows in
            Schedule(
                count: Int(clamping: try rows.first?.integer(0) ?? 0),
                firstDue: try rows.first?.optionalInteger(1).map(Date.init(milliseconds:))
            )
        }
    }
}

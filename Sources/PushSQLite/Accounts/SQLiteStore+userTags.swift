internal import Foundation
package import PushCore
package import PushStore
internal import SQLite

extension SQLiteStore {
    package func setTags(
        _ tags: Set<Tag>,
        ofUser name: Username,
        ifStill rights: AccountRights?,
        by record: AuditRecord?
    ) async throws -> Bool {
        try await self.writer.write { [writer, sealing, audit] db in
            let account = try self.account(name, db)
            guard let plan = try UserTagPlan(tags, of: account, ifStill: rights, by: record, sealing) else {
                return false
            }
            try db.run("update user set tags = \(plan.sealed) where id = \(plan.user)")
            try db.run("delete from user_tag where user_id = \(plan.user)")
            for key in plan.keys {
                try db.run("insert into user_tag (user_id, tag) values (\(plan.user), \(key))")
            }
            if plan.isErasing { writer.recordErasure() }
            if let record = plan.record { try audit.append(record, to: db) }
            return true
        }
    }
}

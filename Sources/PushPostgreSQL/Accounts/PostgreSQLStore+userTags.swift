internal import Foundation
internal import PostgreSQL
package import PushCore
package import PushStore

extension PostgreSQLStore {
    package func setTags(
        _ tags: Set<Tag>,
        ofUser name: Username,
        ifStill rights: AccountRights?,
        by record: AuditRecord?
    ) async throws -> Bool {
        try await self.write { [sealing] tx in
            let account = try await Self.lockAccount(name, tx)
            guard let plan = try UserTagPlan(tags, of: account, ifStill: rights, by: record, sealing) else {
                return false
            }
            _ = try await tx.query(Self.saveTags, plan.user, plan.sealed)
            _ = try await tx.query(Self.otherTags, plan.user, plan.keys)
            if !plan.keys.isEmpty { _ = try await tx.query(Self.addTags, plan.user, plan.keys) }
            if let record = plan.record { tx.append(record) }
            return true
        }
    }

    private static let saveTags = "update account set tags = $2 where id = $1"
    private static let otherTags = "delete from user_tag where user_id = $1 and tag <> all($2::bytea[])"
    private static let addTags = """
        insert into user_tag (user_id, tag) select $1, tag from pg_catalog.unnest($2::bytea[]) as t (tag) on conflict do nothing
        """
}

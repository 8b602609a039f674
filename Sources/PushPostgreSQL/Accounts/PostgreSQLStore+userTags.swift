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
            guard let row = try await tx.query(Self.lockTags, sealing.index.hash(name)).first else { return false }
            if let rights {
                let present = AccountRights(storedRole: try row.text(2), storedApps: try row.optionalText(3))
                guard present == rights else { return false }
            }
            let user = try row.integer(0)
            let old = Set(try sealing.tags(try row.optionalData(1), ofUser: user))
            let sealed = try tags.isEmpty ? nil : sealing.seal(tags, in: .userTags(user))
            _ = try await tx.query(Self.saveTags, user, sealed)
            let keys = tags.map(sealing.index.hash)
            _ = try await tx.query(Self.otherTags, user, keys)
            if !keys.isEmpty { _ = try await tx.query(Self.addTags, user, keys) }
            if var record {
                record.detail = Self.difference(from: old, to: tags)
                tx.append(record)
            }
            return true
        }
    }

    private static let lockTags = "select id, tags, role, apps from account where name_key = $1 for no key update"
    private static let saveTags = "update account set tags = $2 where id = $1"
    private static let otherTags = "delete from user_tag where user_id = $1 and tag <> all($2::bytea[])"
    private static let addTags = """
        insert into user_tag (user_id, tag) select $1, tag from pg_catalog.unnest($2::bytea[]) as t (tag) on conflict do nothing
        """

    /// A text for the audit, such as `added board, crew; removed night`.
    private static func difference(from old: Set<Tag>, to new: Set<Tag>) -> String {
        let parts = [("added", new.subtracting(old)), ("removed", old.subtracting(new))].compactMap { verb, tags in
            tags.isEmpty ? nil : "\(verb) \(tags.map(\.description).sorted().joined(separator: ", "))"
        }
        return parts.isEmpty ? "unchanged" : parts.joined(separator: "; ")
    }
}

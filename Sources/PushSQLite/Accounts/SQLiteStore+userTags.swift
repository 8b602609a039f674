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
        let detail = try await self.write { [writer, sealing] db -> String? in
            let key = sealing.index.hash(name)
            let found = try Row.fetchOne(
                db,
                sql: "select id, tags, role, apps from user where name_key = ?",
                arguments: [key]
            )
            guard let row = found else { return nil }
            if let rights {
                guard try AccountRights(storedRole: row["role"], storedApps: row["apps"]) == rights else { return nil }
            }
            let user: Int64 = try row["id"]
            let old = Set(try sealing.tags(row["tags"], ofUser: user))
            let sealed = try tags.isEmpty ? nil : sealing.seal(tags, in: .userTags(user))
            try db.execute(sql: "update user set tags = ? where id = ?", arguments: [sealed, user])
            try db.execute(sql: "delete from user_tag where user_id = ?", arguments: [user])
            for tag in tags {
                try db.execute(
                    sql: "insert into user_tag (user_id, tag) values (?, ?)",
                    arguments: [user, sealing.index.hash(tag)]
                )
            }
            if !old.isEmpty { writer.recordErasure() }
            return Self.difference(from: old, to: tags)
        } recording: { detail in
            guard let detail else { return nil }
            var record = record
            record?.detail = detail
            return record
        }
        return detail != nil
    }

    /// A text for the audit: `added board, crew; removed night`.
    private static func difference(from old: Set<Tag>, to new: Set<Tag>) -> String {
        let parts = [("added", new.subtracting(old)), ("removed", old.subtracting(new))].compactMap { verb, tags in
            tags.isEmpty ? nil : "\(verb) \(tags.map(\.description).sorted().joined(separator: ", "))"
        }
        return parts.isEmpty ? "unchanged" : parts.joined(separator: "; ")
    }
}

extension SQLiteReader {
    package func tags(ofUser name: Username) throws(StoreError) -> [Tag]? {
        try self.read { db in
            let row = try Row.fetchOne(
                db,
                sql: "select id, tags from user where name_key = ?",
                arguments: [self.sealing.index.hash(name)]
            )
            guard let row else { return nil }
            return try self.sealing.tags(row["tags"], ofUser: row["id"])
        }
    }
}

extension Sealing {
    /// Decrypts the tags given to a user; empty without a value.
    func tags(_ sealed: Data?, ofUser user: Int64) throws -> [Tag] {
        try sealed.map { try self.tags($0, in: .userTags(user)) } ?? []
    }
}

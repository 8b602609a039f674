package import PushCore
internal import PushStore
internal import SQLite

extension SQLiteStore {
    package func deleteDevice(_ id: RegistrationID, by record: AuditRecord?) async throws -> Bool {
        let owner = try await self.write { [writer, sealing] db -> Username? in
            let row = try Row.fetchOne(
                db.cachedStatement(
                    sql: "select u.id, u.name from device d join user u on u.id = d.user_id where d.id = ?"
                ),
                arguments: [id.description]
            )
            guard let row else { return nil }
            // A trigger cancels its queued pushes.
            try db.execute(sql: "delete from device where id = ?", arguments: [id.description])
            writer.recordErasure()
            return try sealing.username(row[1], ofUser: row[0])
        } recording: { owner in
            guard let owner, var record else { return nil }
            record.detail = "of \(owner)"
            return record
        }
        return owner != nil
    }
}

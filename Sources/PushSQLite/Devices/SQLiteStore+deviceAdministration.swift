package import PushCore
internal import PushStore
internal import SQLite

extension SQLiteStore {
    package func deleteDevice(_ id: RegistrationID, by record: AuditRecord?) async throws -> Bool {
        let owner = try await self.write { [writer, sealing] db -> Username? in
            let owner = try db.first(
                prepared: "select u.id, u.name from device d join user u on u.id = d.user_id where d.id = ?",
                id.description
            ) { try sealing.username($0.data(1), ofUser: $0.integer(0)) }
            guard let owner else { return nil }
            // A trigger cancels its queued pushes.
            try db.run(prepared: "delete from device where id = ?", id.description)
            writer.recordErasure()
            return owner
        } recording: { owner in
            guard let owner, var record else { return nil }
            record.detail = "of \(owner)"
            return record
        }
        return owner != nil
    }
}

package import Foundation
internal import PostgreSQL
package import PushCore
package import PushStore

extension PostgreSQLStore {
    package func mark(
        _ id: NotificationID,
        as mark: ReadMark,
        by user: Int64,
        ifStill expected: ReadMark?,
        now: Date
    ) async throws -> MarkOutcome {
        try await self.write { tx in
            let old = try await Self.marks(tx, [id.rawValue], of: user, now: now)[id.rawValue]
            if let outcome = mark.outcome(replacing: old, ifStill: expected) { return outcome }
            // From here on no other transaction changes the user's notifications.
            let numbers = try await tx.changes(ofUsers: [user])
            let marked = try await Self.mark(tx, [id.rawValue], as: mark, by: user, from: numbers, now: now)
            if marked.contains(id.rawValue) { return .marked }
            let present = try await Self.marks(tx, [id.rawValue], of: user, now: now)[id.rawValue]
            return mark.outcome(replacing: present, ifStill: expected) ?? .missing
        }
    }

    package func markRead(
        _ ids: [NotificationID],
        by user: Int64,
        now: Date
    ) async throws -> (read: [NotificationID], hasChanged: Bool) {
        let numbers = ids.map(\.rawValue)
        return try await self.write { tx in
            let marks = try await Self.marks(tx, Array(Set(numbers)), of: user, now: now)
            var read = Set(marks.filter { $0.value == .read }.keys)
            let unread = Set(marks.keys).subtracting(read).sorted { $0 < $1 }
            var hasChanged = false
            if !unread.isEmpty {
                let first = try await tx.numbers([user: unread.count])
                let marked = try await Self.mark(tx, unread, as: .read, by: user, from: first, now: now)
                hasChanged = !marked.isEmpty
                read.formUnion(marked)
                // Another transaction may have marked some of them meanwhile.
                let present = try await Self.marks(tx, unread.filter { !read.contains($0) }, of: user, now: now)
                read.formUnion(present.filter { $0.value == .read }.keys)
            }
            return (read: ids.filter { read.remove($0.rawValue) != nil }, hasChanged: hasChanged)
        }
    }

    // MARK: - Private

    /// The marks of the notifications that the user can see.
    ///
    /// Looks up the row of this user for each notification. The user may have very many other
    /// notifications, which the query must not read.
    private static func marks(
        _ tx: WriteTransaction,
        _ ids: [Int64],
        of user: Int64,
        now: Date
    ) async throws -> [Int64: ReadMark] {
        if ids.isEmpty { return [:] }
        let rows = try await tx.query(
            """
            select t.notification_id, r.read_at is not null
            from unnest($1::int8[], $2::int8[]) as t (notification_id, user_id)
            \(RecipientKey.lookup.join("read_at", of: "recipient", as: "r", with: "t", condition: "and dismissed_at is null"))
            where (select n.expires_at > $3 and n.payload is not null from notification n where n.id = t.notification_id)
            """,
            ids,
            ids.map { _ in user },
            now.milliseconds
        ).map { (id: try $0.integer(0), mark: try $0.boolean(1) ? ReadMark.read : .unread) }
        return Dictionary(rows.map { ($0.id, $0.mark) }) { first, _ in first }
    }

    /// Sets the mark of the visible notifications that do not have the mark yet; returns these
    /// notifications.
    ///
    /// Their change numbers begin with the number that was drawn for the user.
    private static func mark(
        _ tx: WriteTransaction,
        _ ids: [Int64],
        as mark: ReadMark,
        by user: Int64,
        from numbers: [Int64: Int64],
        now: Date
    ) async throws -> [Int64] {
        let first = try Self.number(of: user, in: numbers)
        return try await tx.query(
            """
            update recipient r set read_at = $4, change = t.change, changed_at = $5
            from unnest($1::int8[], $2::int8[], $3::int8[]) as t (notification_id, change, user_id)
            where \(RecipientKey.lookup.equality("r", "t")) and r.dismissed_at is null
                and (r.read_at is null) = ($4::int8 is not null)
                and (select n.expires_at > $5 and n.payload is not null from notification n where n.id = t.notification_id)
            returning r.notification_id
            """,
            ids,
            ids.indices.map { first + Int64($0) },
            ids.map { _ in user },
            mark == .read ? now.milliseconds : nil,
            now.milliseconds
        ).map { try $0.integer(0) }
    }
}

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
        let old = try await self.marks([id.rawValue], of: user, now: now).first?.mark
        if let outcome = mark.outcome(replacing: old, ifStill: expected) { return outcome }
        let marked = try await self.write { tx in
            // `changes` locks the user's counter of changes. From here on, no other transaction
            // changes the user's notifications.
            let numbers = try await tx.changes(ofUsers: [user])
            return try await tx.mark([id.rawValue], as: mark, by: user, from: numbers, now: now)
        }
        if marked.contains(id.rawValue) { return .marked }
        let present = try await self.marks([id.rawValue], of: user, now: now).first?.mark
        return mark.outcome(replacing: present, ifStill: expected) ?? .missing
    }

    package func markRead(
        _ ids: [NotificationID],
        by user: User,
        now: Date
    ) async throws -> (read: [NotificationID], changedApps: Set<AppName>) {
        let visible = try await self.marks(Set(ids.map(\.rawValue)).sorted(), of: user.id, now: now)
            .filter { user.mayUse($0.app) }
        var read = Set(visible.filter { $0.mark == .read }.map(\.id))
        let unread = visible.filter { $0.mark == .unread }.map(\.id)
        var changedApps: Set<AppName> = []
        if !unread.isEmpty {
            let marked = try await self.write { tx in
                let first = try await tx.changes(ofUsers: [user.id], each: unread.count)
                return Set(try await tx.mark(unread, as: .read, by: user.id, from: first, now: now))
            }
            changedApps = Set(visible.filter { marked.contains($0.id) }.map(\.app))
            read.formUnion(marked)
            // Another transaction may have marked some of these notifications meanwhile.
            let present = try await self.marks(unread.filter { !read.contains($0) }, of: user.id, now: now)
            read.formUnion(present.filter { $0.mark == .read }.map(\.id))
        }
        return (read: ids.filter { read.remove($0.rawValue) != nil }, changedApps: changedApps)
    }

    // MARK: - Private

    /// The marks (read or unread) and the apps of the notifications that the user can see.
    private func marks(
        _ ids: [Int64],
        of user: Int64,
        now: Date
    ) async throws -> [(id: Int64, mark: ReadMark, app: AppName)] {
        if ids.isEmpty { return [] }
        return try await self.read(Self.visibleMarks, ids, ids.map { _ in user }, now.milliseconds).map {
            let mark: ReadMark = try $0.boolean(1) ? .read : .unread
            return (id: try $0.integer(0), mark: mark, app: AppName(stored: try $0.optionalText(2)))
        }
    }

    /// Looks up the row of this user for each notification. The user may have very many other
    /// notifications, which the query must not read.
    private static let visibleMarks = """
        select t.notification_id, r.read_at is not null, n.app
        from unnest($1::int8[], $2::int8[]) as t (notification_id, user_id)
        \(RecipientKey.lookup.join("read_at", of: "recipient", as: "r", with: "t", condition: "and dismissed_at is null"))
        \(KeyLookup(columns: ["id"]).join("*", of: "notification", as: "n", with: "t", ["id": "t.notification_id"]))
        where n.expires_at > $3 and n.payload is not null
        """
}

extension WriteTransaction {
    /// Sets the mark (read or unread) of the visible notifications that do not have this mark yet;
    /// returns these notifications.
    ///
    /// `numbers` has the first of the change numbers that were drawn for the user.
    fileprivate func mark(
        _ ids: [Int64],
        as mark: ReadMark,
        by user: Int64,
        from numbers: [Int64: Int64],
        now: Date
    ) async throws -> [Int64] {
        let first = try PostgreSQLStore.number(of: user, in: numbers)
        return try await self.query(
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

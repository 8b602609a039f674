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
        let (outcome, isChange) = mark.decide(replacing: old, ifStill: expected)
        guard isChange else { return outcome }
        let marked = try await self.write { tx in
            // `changes` locks the user's counter of changes. From here on, no other transaction
            // changes the user's notifications.
            let numbers = try await tx.changes(ofUsers: [user])
            return try await tx.mark([id.rawValue], as: mark, by: user, from: numbers, now: now)
        }
        if marked.contains(id.rawValue) { return outcome }
        // Another transaction has changed the row since the read.
        return try await self.mark(id, as: mark, by: user, ifStill: expected, now: now)
    }

    package func markRead(
        _ ids: [NotificationID],
        by user: User,
        now: Date
    ) async throws -> (read: [NotificationID], changedApps: Set<AppName>) {
        let visible = try await self.marks(Set(ids.map(\.rawValue)).sorted(), of: user.id, now: now)
            .filter { user.mayUse($0.app) }
        var read = Set(visible.filter { $0.mark == .read }.map(\.id))
        var open = Set(visible.filter { $0.mark == .unread }.map(\.id))
        // The changes get their numbers in the order of the request.
        let unread = ids.map(\.rawValue).filter { open.remove($0) != nil }
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

    package func dismiss(
        _ id: NotificationID,
        by user: Int64,
        ifStill mark: ReadMark?,
        recording record: AuditRecord?,
        now: Date
    ) async throws -> Bool {
        let key = RecipientKey(id.rawValue, user)
        return try await self.write { tx in
            // Reads without a lock first, so that a dismissal that changes nothing mostly writes
            // nothing.
            let state = try await tx.state(of: id, for: user, now: now)
            guard let state, state.mayDismiss(ifStill: mark) else { return false }
            let numbers = try await tx.changes(ofUsers: [user])
            let hidden = try await tx.hide([key], numbers, ifStill: mark, reason: PushReason.dismissed, now: now)
            guard hidden == 1 else { return false }
            if state.isReadOnce { try await tx.recordTaken([key]) }
            if let record { tx.append(record) }
            return true
        }
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
            let mark: ReadMark = try $0.flag("is_read") ? .read : .unread
            return (id: try $0.integer("notification_id"), mark: mark, app: AppName(stored: try $0.optionalText("app")))
        }
    }

    /// Looks up the row of this user for each notification. The user may have very many other
    /// notifications, which the query must not read.
    private static let visibleMarks = """
        select t.notification_id, r.read_at is not null as is_read, n.app
        from unnest($1::int8[], $2::int8[]) as t (notification_id, user_id)
        \(RecipientKey.lookup.join("read_at", of: "recipient", as: "r", with: "t", condition: "and dismissed_at is null"))
        \(KeyLookup(columns: ["id"]).join("*", of: "notification", as: "n", with: "t", ["id": "t.notification_id"]))
        where n.expires_at > $3 and n.payload is not null
        """
}

package import Foundation
internal import PostgreSQL
package import PushCore
package import PushStore

extension PostgreSQLStore {
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
}

extension WriteTransaction {
    func state(of id: NotificationID, for user: Int64, now: Date) async throws -> RecipientState? {
        try await self.query(Self.state, id.rawValue, user, now.milliseconds).first.map(RecipientState.init)
    }

    private static let state = """
        select \(RecipientState.Column.list)
        from notification n join recipient r on r.notification_id = n.id and r.user_id = $2
        left join untaken w on w.notification_id = n.id and w.user_id = $2
        where n.id = $1 and n.expires_at > $3
        """

    /// Dismisses notifications for recipients, and cancels their pushes. If a mark (read or
    /// unread) is given, dismisses a notification only for a recipient who sees it with this mark.
    /// If the notification was recalled or has expired, nothing changes for the recipient. Returns
    /// the number of changed recipients.
    ///
    /// `numbers` has the first change number for each user. A user's first notification in
    /// `recipients` gets this number, and each further notification gets the next number.
    func hide(
        _ recipients: [RecipientKey],
        _ numbers: [Int64: Int64],
        ifStill mark: ReadMark? = nil,
        reason: String,
        now: Date
    ) async throws -> Int {
        var next = numbers
        let changes = try recipients.map { recipient in
            let number = try PostgreSQLStore.number(of: recipient.user, in: next)
            next[recipient.user] = number + 1
            return number
        }
        let isRead = mark.map { $0 == .read }
        let hidden = try await self.query(Self.hide, keys: recipients, changes, now.milliseconds, isRead)
            .map(RecipientKey.init)
        try await self.cancelPushes(to: hidden.sorted(), reason: reason, now: now)
        return hidden.count
    }

    private static let hide = """
        with l as (
            select r.notification_id, r.user_id, t.change
            from unnest($1::int8[], $2::int8[], $3::int8[]) as t (notification_id, user_id, change)
            join recipient r on \(RecipientKey.lookup.equality("r", "t"))
            where r.dismissed_at is null order by r.notification_id, r.user_id for no key update of r)
        update recipient r set dismissed_at = $4, change = l.change, changed_at = $4 from l
        where \(RecipientKey.lookup.equality("r", "l")) and coalesce($5 = (r.read_at is not null), true)
            and (select n.expires_at > $4 and n.payload is not null from notification n where n.id = l.notification_id)
        returning r.notification_id, r.user_id
        """
}

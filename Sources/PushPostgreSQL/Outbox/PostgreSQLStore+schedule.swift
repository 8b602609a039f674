package import Foundation
internal import PostgreSQL
internal import PushCore
package import PushStore

extension PostgreSQLStore {
    package func releaseScheduled(limit: Int?, now: Date) async throws -> Release {
        try await self.write { tx in
            var release = Release()
            let due = try await tx.query(Self.dueRows, now.milliseconds, limit ?? Release.limit).map(StoredTarget.init)
            if !due.isEmpty { try await self.release(try await self.readable(due, tx), &release, tx, now: now) }
            release.nextDue = try await tx.query(Self.firstDue).first?.date()
            return release
        }
    }

    private static let notification = KeyLookup(columns: ["id"])

    /// Selects and locks the next due rows of the schedule, with their notifications. Skips
    /// notifications that another process is sending or recalling.
    ///
    /// The limit applies before the join. Otherwise the planner may merge the schedule with all
    /// notifications.
    static let dueRows = """
        with t as materialized (
            select * from scheduled where not is_set_aside and due_at <= $1 order by due_at, sequence limit $2
            for update skip locked)
        select \(StoredTarget.Column.list) from t \(notification.join(
            "*", of: "notification", as: "n", with: "t", ["id": "t.notification_id"],
            lock: "for no key update skip locked"
        ))
        order by t.due_at, t.sequence
        """

    static let firstDue = "select due_at from scheduled where not is_set_aside order by due_at limit 1"

    package static let sendTime = "select due_at from scheduled where notification_id = $1 and not is_set_aside"

    package func schedule(countingAtMost limit: Int) async throws(StoreError) -> Schedule {
        let count = "select count(*) from (select 1 from scheduled limit $1) as s"
        return try await self.read("select (\(count)) as count, (\(Self.firstDue)) as first_due", limit) {
            Schedule(count: Int(clamping: try $0[0].integer("count")), firstDue: try $0[0].optionalDate("first_due"))
        }
    }

    // MARK: - Private

    fileprivate typealias Readable = (scheduled: StoredTarget, audience: HashedAudience)

    private func release(_ due: [Readable], _ release: inout Release, _ tx: WriteTransaction, now: Date) async throws {
        let rights = try await ReleaseRights(of: due.filter { $0.scheduled.isWanted(now) }, tx)
        var (done, refused): ([Int64], [Int64]) = ([], [])
        var pushes = 0
        for (scheduled, audience) in due where pushes < Release.pushes {
            done.append(scheduled.id)
            guard scheduled.isWanted(now), let id = NotificationID(rawValue: scheduled.id) else { continue }
            guard rights.allow(scheduled.sender, audience) else {
                refused.append(scheduled.id)
                release.refused.append(id)
                continue
            }
            let made = try await tx.send(scheduled, to: audience, rights.users(of: audience), now: now)
            release.sent.append(id)
            release.hasWork = release.hasWork || made.hasWork
            pushes += made.reach.pushes
        }
        _ = try await tx.query("delete from scheduled where notification_id = any($1::int8[])", done)
        try await tx.recallUnsent(refused, now: now)
    }

    /// The rows whose audience can be decrypted. Other rows are marked as set aside, so that they
    /// are not tried again.
    private func readable(_ due: [StoredTarget], _ tx: WriteTransaction) async throws -> [Readable] {
        var damaged: [Int64] = []
        let readable = due.compactMap { scheduled -> Readable? in
            do {
                let place = SealedPlace.scheduled(scheduled.id)
                return (scheduled, try scheduled.audience(self.sealing, self.options.tags, in: place))
            } catch {
                damaged.append(scheduled.id)
                return nil
            }
        }
        if damaged.isEmpty { return readable }
        let ids = damaged
        _ = try await tx.query("update scheduled set is_set_aside = true where notification_id = any($1::int8[])", ids)
        tx.afterCommit { for id in ids { self.condition.shared.record(.scheduled(notification: id)) } }
        return readable
    }
}

extension WriteTransaction {
    /// Sends a scheduled notification in the same way as a post that is made now.
    fileprivate func send(
        _ scheduled: StoredTarget,
        to audience: HashedAudience,
        _ users: [Int64],
        now: Date
    ) async throws -> (reach: Reach, hasWork: Bool) {
        let rows = try await self.query(Self.assignSequence, scheduled.id, now.milliseconds, Int64.random(in: 0..<256))
        guard let sequence = try rows.first?.integer() else {
            throw StoreError.failed(reason: "notification \(scheduled.id) is gone")
        }
        let target = scheduled.target(to: audience, sequence: sequence)
        let recipients = try await self.insertRecipients(users: users, of: target, now: now)
        return try await self.enqueue(target, besides: recipients, page: AudienceWalk.page, now: now)
    }

    /// Gives a scheduled notification its place in the order of notifications, computed from the
    /// time of its release, as for a post.
    static let assignSequence = """
        update notification set sequence = (extract(epoch from clock_timestamp()) * 1000000)::int8 << 8 | $3,
            created_at = $2
        where id = $1 returning sequence
        """

    /// Recalls scheduled notifications that were never sent.
    fileprivate func recallUnsent(_ ids: [Int64], now: Date) async throws {
        if ids.isEmpty { return }
        var erased: [Int64: Usage] = [:]
        for row in try await self.query(Self.eraseUnsent, ids, now.milliseconds) {
            erased[try row.integer("sender_id"), default: Usage()].bytes += try row.integer("bytes")
        }
        try await self.subtract(erased)
    }

    static let eraseUnsent = """
        with n as (
            select id, sender_id, coalesce(length(payload), 0)::int8 as bytes from notification
            where id = any($1::int8[]) order by id for no key update)
        update notification m set payload = null, alert = null, recalled_at = $2 from n where m.id = n.id
        returning n.sender_id, n.bytes
        """
}

/// The accounts that the released notifications name, and the present rights of their senders.
struct ReleaseRights {
    /// The rights of the senders, without those who were deleted or disabled.
    private var senders: [Int64: SenderRight] = [:]
    private var named: [Data: NamedUser] = [:]

    /// Reads the accounts of senders and named users, and locks them against deletion. Also locks,
    /// with one statement and in a fixed order, the counters of changes of all named users.
    fileprivate init(of wanted: [PostgreSQLStore.Readable], _ tx: WriteTransaction) async throws {
        let senders = Set(wanted.map(\.scheduled.sender)).sorted()
        let keys = Array(Set(wanted.flatMap { $0.audience.users.map(\.key) }))
        for row in try await tx.query(Self.accounts, senders, keys) {
            let (id, key) = (try row.integer("id"), try row.data("name_key"))
            let (apps, role) = (Set(storedApps: try row.optionalText("apps")), try row.text("role"))
            let isRequired = try row.flag("requires_encryption")
            self.named[key] = NamedUser(id: id, apps: apps, requiresEncryption: isRequired)
            if try row.flag("is_enabled") { self.senders[id] = SenderRight(role: role, key: key, apps: apps) }
        }
        let users = Set(wanted.flatMap { self.users(of: $0.audience) })
        if wanted.count > 1, users.count > 1 { try await tx.lockCounters(of: users) }
    }

    static let accounts = """
        select id, name_key, role, apps, disabled_at is null as is_enabled, requires_encryption from account
        where id = any($1::int8[]) or name_key = any($2::bytea[]) order by id for key share
        """

    /// Whether a sender may now send to an audience.
    func allow(_ sender: Int64, _ audience: HashedAudience) -> Bool { self.senders[sender]?.covers(audience) ?? false }

    /// The ids of the users whom an audience names, in ascending order. Leaves out users who were
    /// deleted or who lost the app after the post.
    func users(of audience: HashedAudience) -> [Int64] {
        Set(audience.users.compactMap { self.named[$0.key]?.id(in: audience.audience.app) }).sorted()
    }
}

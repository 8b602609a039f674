internal import Foundation
internal import PostgreSQL
internal import PushCore
package import PushStore

extension PostgreSQLStore {
    package func notification(_ fetch: NotificationFetch) async throws(StoreError) -> StoredNotification? {
        let pending = PendingFetch(fetch, of: self)
        await withUnsafeContinuation { pending.begin(resume: $0) }
        if !pending.isFinished { await pending.finish() }
        return try pending.result()
    }

    package func pendingNotification(_ fetch: NotificationFetch) -> any PendingNotification {
        PendingFetch(fetch, of: self)
    }

    package static let apps = "select id, app from notification where id = any($1::int8[]) and expires_at > $2"

    package func newestChange(ofUser user: Int64) async throws(StoreError) -> Int64 {
        try await self.read(Self.newest, user) { rows in try rows.first?.integer() ?? 0 }
    }

    /// Selects the user's newest change number: the one directly before the next number that can
    /// be drawn. It may be higher than the last number that was drawn.
    static let newest = """
        select greatest(
            coalesce((select change from user_change where user_id = $1), 0),
            (extract(epoch from clock_timestamp()) * 1073741824)::int8 - 1)
        """

    // MARK: - Private

    /// Fetches the notifications for all callers of a group in one query. The result for a caller
    /// is its row, or `nil` without such a row.
    fileprivate func fetch(_ fetches: [NotificationFetch]) async -> [Result<Row?, StoreError>] {
        do {
            return try await self.read(
                Self.fetch,
                Array(0..<Int64(fetches.count)),
                fetches.map(\.id.rawValue),
                fetches.map(\.user),
                fetches.map(\.alsoAsSender),
                fetches.map(\.now.milliseconds)
            ) { rows in
                var found: [Row?] = fetches.map { _ in nil }
                for row in rows { found[Int(try row.integer("place"))] = row }
                return found.map { .success($0) }
            }
        } catch {
            return fetches.map { _ in .failure(error) }
        }
    }

    /// Selects notifications with the rows of their recipients. Reads `untaken` only for read-once
    /// payloads. Looks up the recipient only by the requested id and user. With the id from the
    /// row of `notification`, the planner might search by that id alone. It would then read all
    /// recipients of a broadcast for each fetch.
    static let fetch = """
        select \(FetchColumn.list), f.place
        from unnest($1::int8[], $2::int8[], $3::int8[], $4::boolean[], $5::int8[])
            as f (place, id, user_id, also_as_sender, now)
        join notification n on n.id = f.id
        left join recipient r on \(RecipientKey.lookup.equality("r", "f", ["notification_id": "f.id"]))
        where n.expires_at > f.now and n.payload is not null
            and (r.user_id is not null and r.dismissed_at is null
                or f.also_as_sender and n.sender_id = f.user_id and not n.is_read_once)
            and (not n.is_read_once or coalesce((
                select leased_until from untaken where notification_id = n.id and user_id = f.user_id), f.now + 1) > f.now)
        """
}

/// A caller's fetch, from its place in the queue to the row that it gets.
private final class PendingFetch: GroupSeat<NotificationFetch, Row?>, PendingNotification, @unchecked Sendable {
    private let store: PostgreSQLStore

    init(_ fetch: NotificationFetch, of store: PostgreSQLStore) {
        self.store = store
        super.init(fetch)
    }

    func begin(resume caller: UnsafeContinuation<Void, Never>) {
        self.store.fetches.wait(on: self, resume: caller)
    }

    var isFinished: Bool { self.end != nil }

    func finish() async {
        let store = self.store
        await store.fetches.lead(self) { await store.fetch($0) }
    }

    func result() throws(StoreError) -> StoredNotification? {
        guard let row = try self.end?.get() ?? nil else { return nil }
        do {
            return try StoredNotification(row, self.member.id, for: self.member.user, self.store.sealing.rows)
        } catch {
            throw StoreError(reading: error) ?? .failed(reason: "\(type(of: error))")
        }
    }
}

extension NotificationFetch: GroupMember {
    var byteCount: Int { 0 }
}

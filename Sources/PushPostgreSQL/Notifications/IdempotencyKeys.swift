package import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

/// The idempotency keys of the requests in one transaction.
///
/// The transaction looks up the rows of these keys at its beginning, and inserts new rows at its
/// end. If another transaction has inserted a row for the same key meanwhile, this insertion
/// fails. The transaction then runs again, and finds that row.
struct IdempotencyKeys {
    /// A request, and the notification that it would store.
    typealias Reserved = (request: IdempotentRequest, for: NewNotification)

    /// For each key, the notification that was stored: by an earlier request, or by this
    /// transaction.
    private(set) var stored: [Data: StoredRequest] = [:]
    /// The keys that have no row yet.
    private let free: Set<Data>
    /// The keys whose rows are too old to count; they are deleted.
    private let old: [Data]

    /// Decodes the rows that `lookup` has found; `rows` is `nil` if no request has a key.
    init(_ requests: [Reserved], found rows: Rows?) throws {
        let pairs = try rows?.map { (try $0.data("key"), try StoredRequest($0)) }
        let found = Dictionary(pairs ?? []) { first, _ in first }
        let ends = Dictionary(
            requests.map { ($0.request.key, ($0.for.createdAt - IdempotentRequest.lifetime).milliseconds) }
        ) { first, _ in first }
        self.stored = found.filter { $0.value.createdAt > ends[$0.key] ?? .min }
        self.free = Set(ends.keys).subtracting(self.stored.keys)
        self.old = found.keys.filter(self.free.contains)
    }

    static func lookup(of requests: [Reserved]) throws -> Statement {
        try Statement(
            "select \(StoredRequest.columns), key from idempotency where key = any($1::bytea[])",
            Array(Set(requests.map(\.request.key)))
        )
    }

    /// Records that a request of this transaction has stored a notification.
    mutating func record(_ request: IdempotentRequest, of notification: NewNotification, _ reach: Reach) {
        self.stored[request.key] = StoredRequest(request, of: notification, reach)
    }

    /// Inserts rows for the notifications that this transaction stores.
    func write(_ tx: WriteTransaction) throws {
        let outcomes = self.stored.filter { self.free.contains($0.key) }
        if outcomes.isEmpty { return }
        let old = self.old.filter { outcomes[$0] != nil }
        if !old.isEmpty { tx.queryLast(try Statement("delete from idempotency where key = any($1::bytea[])", old)) }
        tx.queryLast(
            try Statement(
                Self.insertion,
                outcomes.map(\.key),
                outcomes.map(\.value.request),
                outcomes.map(\.value.notification),
                outcomes.map(\.value.createdAt),
                outcomes.map(\.value.expiresAt),
                outcomes.map(\.value.recipients),
                outcomes.map(\.value.pushes)
            )
        )
    }

    /// Inserts the rows. Fails (23505) if another transaction has inserted a row with the same key
    /// since `lookup`.
    private static let insertion = """
        insert into idempotency (key, request, notification_id, created_at, expires_at, recipients, pushes)
        select t.key, t.request, t.notification_id, t.created_at, t.expires_at, t.recipients, t.pushes
        from unnest($1::bytea[], $2::bytea[], $3::int8[], $4::int8[], $5::int8[], $6::int8[], $7::int8[])
            as t (key, request, notification_id, created_at, expires_at, recipients, pushes)
        order by t.key
        """
}

extension PostgreSQLStore {
    package func deleteExpiredIdempotency(now: Date, limit: Int) async throws -> Int {
        let end = now - IdempotentRequest.lifetime
        return try await self.write { tx in
            try await self.search(for: .idempotencyKeys, at: end) { start in
                let deleted = try await tx.query(Self.expiredKeys, start, end.milliseconds, limit)
                return (deleted.count, first: try deleted.map { try $0.integer() }.min())
            }
        }
    }

    static let expiredKeys = """
        delete from idempotency where key in (
            select key from idempotency where created_at >= $1 and created_at <= $2 order by created_at limit $3
            for update skip locked)
        returning created_at
        """
}

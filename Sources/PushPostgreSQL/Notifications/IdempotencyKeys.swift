package import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

/// The idempotent requests of one transaction.
///
/// Inserts their rows before anything else: of two transactions with the same key, one waits here
/// for the other's end, and then reads its outcome. Deletes the rows of requests that have stored
/// nothing at the end.
///
/// The first run of a group only looks the rows up, and inserts them at its end, to save one of
/// two writes. If another transaction was faster, that run fails, and the group runs again in the
/// usual way.
struct IdempotencyKeys {
    /// A request, and the notification that it stores.
    typealias Reserved = (request: IdempotentRequest, for: NewNotification)

    /// The notifications that earlier requests, and those of this transaction, have stored; by
    /// key.
    private var stored: [Data: StoredRequest] = [:]
    /// The rows that this transaction has inserted.
    private let reserved: Set<Data>
    /// The keys that have no row yet.
    private let free: Set<Data>

    /// Inserts rows for the requests; until `write`, they name these notifications.
    init(_ tx: WriteTransaction, _ requests: [Reserved]) async throws {
        let rows = requests.isEmpty ? nil : try await tx.query(all: [Self.reservation(of: requests)])[0]
        try await self.init(tx, requests, rows)
    }

    /// Reads the `rows` that the statement `reservation` has returned; `nil` if there were no
    /// requests.
    init(_ tx: WriteTransaction, _ requests: [Reserved], _ rows: Rows?) async throws {
        let reserved = Set(try rows?.map { try $0.data(0) } ?? [])
        (self.reserved, self.free) = (reserved, [])
        let earlier = Set(requests.map(\.request.key)).subtracting(reserved)
        if !earlier.isEmpty { self.stored = try await Self.stored(tx, Array(earlier)) }
    }

    /// Reads the rows that the statement `lookup` of a first run has returned. Throws
    /// `PostBatch.Overtaken` if a row is too old to count and must be replaced.
    init(_ requests: [Reserved], found rows: Rows?) throws {
        let found = try rows.map(Self.stored) ?? [:]
        for (request, notification) in requests {
            guard let earlier = found[request.key] else { continue }
            let end = notification.createdAt - IdempotentRequest.lifetime
            if earlier.createdAt <= end.milliseconds { throw PostBatch.Overtaken() }
        }
        self.stored = found
        self.reserved = []
        self.free = Set(requests.map(\.request.key)).subtracting(found.keys)
    }

    /// Finds the rows of the requests.
    static func lookup(of requests: [Reserved]) throws -> Statement {
        try Statement(Self.lookup, Array(Set(requests.map(\.request.key))))
    }

    /// The outcome of an earlier request with the same key; `nil` if this is the first.
    func earlierOutcome(of request: IdempotentRequest) throws -> PostOutcome? {
        try self.stored[request.key]?.outcome(of: request)
    }

    /// Records the notification that a request has stored.
    mutating func record(_ request: IdempotentRequest, of notification: NewNotification, _ reach: Reach) {
        self.stored[request.key] = StoredRequest(request, of: notification, reach)
    }

    /// Writes the notifications that the requests have stored, and deletes the rows of requests
    /// that have stored nothing.
    func write(_ tx: WriteTransaction) throws {
        for (sql, keys) in [(Self.completion, self.reserved), (Self.insertion, self.free)] {
            let outcomes = self.stored.filter { keys.contains($0.key) }
            guard !outcomes.isEmpty else { continue }
            tx.queryLast(
                try Statement(
                    sql,
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
        let unused = self.reserved.filter { self.stored[$0] == nil }
        if !unused.isEmpty {
            tx.queryLast(try Statement("delete from idempotency where key = any($1::bytea[])", Array(unused)))
        }
    }

    /// Inserts the rows. For requests with the same key, the first counts.
    static func reservation(of requests: [Reserved]) throws -> Statement {
        let requests = Dictionary(requests.map { ($0.request.key, $0) }) { first, _ in first }
        return try Statement(
            Self.reservation,
            Array(requests.keys),
            requests.values.map(\.request.request),
            requests.values.map(\.for.id.rawValue),
            requests.values.map(\.for.createdAt.milliseconds),
            requests.values.map(\.for.expiresAt.milliseconds),
            Int64(IdempotentRequest.lifetime * 1000)
        )
    }

    // MARK: - Private

    /// Also replaces rows that are too old to count. The statement locks the other rows, too.
    private static let reservation = """
        insert into idempotency (key, request, notification_id, created_at, expires_at)
        select t.key, t.request, t.notification_id, t.created_at, t.expires_at
        from unnest($1::bytea[], $2::bytea[], $3::int8[], $4::int8[], $5::int8[])
            as t (key, request, notification_id, created_at, expires_at)
        order by t.key
        on conflict (key) do update set request = excluded.request, notification_id = excluded.notification_id,
            created_at = excluded.created_at, expires_at = excluded.expires_at, recipients = null, pushes = null
        where idempotency.created_at <= excluded.created_at - $6
        returning key
        """

    /// Fails for a key that another transaction has inserted meanwhile.
    private static let insertion = """
        insert into idempotency (key, request, notification_id, created_at, expires_at, recipients, pushes)
        select t.key, t.request, t.notification_id, t.created_at, t.expires_at, t.recipients, t.pushes
        from unnest($1::bytea[], $2::bytea[], $3::int8[], $4::int8[], $5::int8[], $6::int8[], $7::int8[])
            as t (key, request, notification_id, created_at, expires_at, recipients, pushes)
        order by t.key
        """

    private static let lookup = """
        select \(StoredRequest.Column.list), key from idempotency where key = any($1::bytea[])
        """

    /// The comparison with an array makes PostgreSQL look up each key: see `KeyLookup`.
    private static let completion = """
        update idempotency i set request = t.request, notification_id = t.notification_id, created_at = t.created_at,
            expires_at = t.expires_at, recipients = t.recipients, pushes = t.pushes
        from unnest($1::bytea[], $2::bytea[], $3::int8[], $4::int8[], $5::int8[], $6::int8[], $7::int8[])
            as t (key, request, notification_id, created_at, expires_at, recipients, pushes)
        where i.key = any(array[t.key])
        """

    private static func stored(_ tx: WriteTransaction, _ keys: [Data]) async throws -> [Data: StoredRequest] {
        try Self.stored(try await tx.query(Self.lookup, keys))
    }

    private static func stored(_ rows: Rows) throws -> [Data: StoredRequest] {
        let key = StoredRequest.Column.allCases.count
        return Dictionary(try rows.map { (try $0.data(key), try StoredRequest($0)) }) { first, _ in first }
    }
}

extension PostgreSQLStore {
    package func deleteExpiredIdempotency(now: Date, limit: Int) async throws -> Int {
        let end = now - IdempotentRequest.lifetime
        return try await self.write { tx in
            try await self.search(for: .idempotencyKeys, at: end) { start in
                let deleted = try await tx.query(Self.expiredKeys, start, end.milliseconds, limit).map {
                    try $0.integer(0)
                }
                return (deleted.count, first: deleted.min())
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

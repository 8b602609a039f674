internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

/// The credentials that have ended since a server last read them.
struct EndsSince: Sendable {
    let newest: Int64
    let ends: [CredentialLease.End]

    /// Decodes the rows that the statement `ServerMembership.endsSince` returns.
    init(_ seen: Int64, _ rows: Rows) throws {
        guard let first = rows.first else { throw DatabaseError.badColumn(0) }
        self.newest = try first.integer(0)
        let trimmed = try first.integer(1)
        // After a database was restored from a backup, the newest number is lower than before.
        guard self.newest >= seen, trimmed <= seen, rows.count <= ServerMembership.maximumEnds else {
            self.ends = [.everything]
            return
        }
        self.ends = self.newest == seen ? [] : try rows.map { try CredentialLease.End($0) }
    }
}

extension CredentialLease.End {
    fileprivate init(_ row: Row) throws {
        let user = try row.integer(3)
        guard let token = try row.optionalData(4) else {
            self = .user(user)
            return
        }
        guard let fingerprint = Fingerprint(bytes: token) else { throw DatabaseError.badColumn(4) }
        self = .token(fingerprint, user: user)
    }

    fileprivate var row: (user: Int64, token: Data?)? {
        switch self {
        case .everything: nil
        case .user(let user): (user, nil)
        case .token(let token, let user): (user, token.bytes)
        }
    }
}

extension WriteTransaction {
    /// Stores credentials that end in this transaction; returns the number of the last one.
    ///
    /// Locks `epoch` until the commit, so that these numbers become visible in ascending order.
    func write(_ ends: [CredentialLease.End]) async throws -> Int64? {
        let rows = ends.compactMap(\.row)
        guard !rows.isEmpty else { return nil }
        return try await self.query(Self.newEnds, rows.count, rows.map(\.user), rows.map(\.token)).first?.integer(0)
    }

    static let newEnds = """
        with e as (update epoch set newest = newest + $1 where id = 1 returning newest),
        added as (
            insert into account_end (epoch, at, user_id, token)
            select e.newest - $1 + x.place, \(DatabaseClock.now), x.user_id, x.token
            from e cross join unnest($2::int8[], $3::bytea[]) with ordinality as x (user_id, token, place))
        select newest from e
        """
}

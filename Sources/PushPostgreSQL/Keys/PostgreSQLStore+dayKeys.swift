package import Foundation
internal import Migrations
internal import PostgreSQL
internal import PushCore
package import PushStore

extension PostgreSQLStore {
    /// The number of payloads that one transaction encrypts again.
    private static let dayPage = 200

    package func turnDayKeys(now: Date) async throws -> DayKeyTurn? {
        guard let days = self.vault.days, let keeper = self.options.cluster.dayChain else { return nil }
        var turn = DayKeyTurn()
        if !days.isSealing {
            // Begins to encrypt with day keys if all servers support it.
            turn.begins = try await self.write { tx in
                _ = try await tx.query(Schema.schemaLock)
                _ = try await tx.query(DayKeyReport.enableDayKeys, Migration.dayKeys)
                return try await DayKeyReport(tx.query(DayKeyReport.all, Migration.dayKeys)).isSealing
            }
            if turn.begins { days.beginSealing() }
        }
        // The earlier of the server's and the database's time counts: a clock that is ahead must
        // not destroy keys that other servers still need.
        let moment = min(now, try await self.databaseTime())
        let day = DayKeyReport.firstDay(at: moment)
        try await self.renewReadOnce(before: day, now: moment, &turn)
        if day > days.chain.day {
            let chain = days.chain.advanced(to: day)
            try keeper.advance(to: chain)
            days.advance(to: chain)
            turn.destroyedBefore = day
        }
        if let (day, value) = try await self.dayKeyReport().nextCheck(days.chain, now: moment) {
            _ = try await self.read(DayKeyReport.storeCheckValue, Int64(day.number), value)
        }
        _ = try await self.read(DayKeyReport.deleteSilentHolders)
        _ = try await self.read(DayKeyReport.storeHolder, keeper.place, Int64(days.chain.day.number))
        return turn
    }

    /// The number of files that still contain keys of past days, according to the servers' last
    /// reports; `nil` if this server has no day keys.
    func lateDayKeys() async throws(StoreError) -> Int? {
        guard self.vault.days != nil else { return nil }
        let now = try await self.databaseTime()
        return try await self.dayKeyReport().late(at: now).count
    }

    // MARK: - Private

    private func databaseTime() async throws(StoreError) -> Date {
        try await self.read("select \(DatabaseClock.now)", values: []) { try $0[0].date() }
    }

    private func dayKeyReport() async throws(StoreError) -> DayKeyReport {
        try await self.read(DayKeyReport.all, values: [Migration.dayKeys]) { try DayKeyReport($0) }
    }

    /// Encrypts read-once payloads again. These are the payloads that recipients have not
    /// collected yet, and that are encrypted with the key of a day before `day`.
    private func renewReadOnce(before day: Day, now: Date, _ turn: inout DayKeyTurn) async throws {
        var row: Int64? = 0
        while let last = row {
            try Task.checkCancellation()
            let page = try await self.write { tx in
                let page = try await ReadOncePage(tx, after: last, before: day, limit: Self.dayPage, now: now)
                try await page.renew(tx, now: now)
                return page
            }
            turn.renewed += page.renewed.count
            turn.erased += page.lost.count
            row = page.last
        }
    }
}

/// A page of locked read-once payloads whose keys will be destroyed, with their new values.
private struct ReadOncePage: Sendable {
    /// The last row of the page; `nil` if no further page follows.
    var last: Int64?
    var renewed: [(id: Int64, payload: Data, alert: Data?)] = []
    /// The notifications whose payloads are lost, because their key no longer exists.
    var lost: [Int64] = []
    private var freed: [Int64: Usage] = [:]

    init(_ tx: WriteTransaction, after row: Int64, before day: Day, limit: Int, now: Date) async throws {
        let bounds = [UInt32(0), day.number].map { number in
            withUnsafeBytes(of: number.bigEndian) { Data([Vault.dayFormat]) + Data($0) }
        }
        let rows = try await tx.query(Self.next, row, now.milliseconds, bounds[0], bounds[1], limit)
        for row in rows { try self.add(row, tx.sealing.vault, now: now) }
        if rows.count == limit { self.last = try rows[limit - 1].integer("id") }
    }

    private mutating func add(_ row: Row, _ vault: Vault, now: Date) throws {
        let (id, sender, payload) = (try row.integer("id"), try row.integer("sender_id"), try row.data("payload"))
        guard let notification = NotificationID(rawValue: id) else { return }
        let until = SealedUntil(expiresAt: try row.date("expires_at"), isReadOnce: true, now: now)
        func renewed(_ sealed: Data, _ place: SealedPlace) throws -> Data {
            try vault.seal(try vault.open(sealed, in: place), in: place, until: until)
        }
        do {
            let payload = try renewed(payload, .payload(notification, sender: sender))
            let alert = try row.optionalData("alert").map { try renewed($0, .alert(notification, sender: sender)) }
            self.renewed.append((id, payload, alert))
        } catch VaultError.dayKeyMissing {
            self.lost.append(id)
            self.freed[sender, default: Usage()].bytes += Int64(payload.count)
        } catch is VaultError {
            // A damaged payload is left as it is. The recipient who fetches it gets the error.
        }
    }

    func renew(_ tx: WriteTransaction, now: Date) async throws {
        if !self.renewed.isEmpty {
            let (payloads, alerts) = (self.renewed.map(\.payload), self.renewed.map(\.alert))
            _ = try await tx.query(Self.renewal, self.renewed.map(\.id), payloads, alerts)
        }
        if self.lost.isEmpty { return }
        _ = try await tx.query(Self.erasure, self.lost)
        try await tx.subtract(self.freed)
    }

    private static let next = """
        select id, sender_id, payload, alert, expires_at from notification
        where is_read_once and payload is not null and id > $1 and expires_at > $2
            and substr(payload, 1, 5) >= $3 and substr(payload, 1, 5) < $4
        order by id limit $5 for no key update
        """

    private static let renewal = """
        update notification n set payload = u.payload, alert = u.alert
        from unnest($1::int8[], $2::bytea[], $3::bytea[]) as u (id, payload, alert) where n.id = u.id
        """

    private static let erasure = "update notification set payload = null, alert = null where id = any($1::int8[])"
}

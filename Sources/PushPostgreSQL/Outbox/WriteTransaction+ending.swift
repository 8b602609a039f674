internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

/// The final outcome of one push, which must be stored.
struct PushEnd: Sendable {
    let push: DuePush
    let state: TallyState
    let reason: String?
    var providerID: String?
    /// The number of the server that leased the push. If a server with another number has leased
    /// the push meanwhile, the push stays as it is; `nil`: the lease does not matter.
    var owner: Int64?
    /// The keyed hash of the device's address. If the device now has another address, the push
    /// stays as it is; `nil`: the address does not matter.
    var address: Data?
    /// Whether the next push to the device must wait for the minimum interval between two pushes.
    var isPaced = false
}

/// The error for a push that had already ended when this transaction was to end it. The
/// transaction is rolled back.
struct EndedBefore: Error {}

extension WriteTransaction {
    /// Moves pushes from the outbox to the table of settled pushes, counts them, and records their
    /// events. Returns the pushes that were not settled before.
    ///
    /// Each push may occur only once in `ends`. For an accepted push, the device's row of
    /// `device_push` stores the time. But a stored time less than a minute old is kept, unless the
    /// next push must wait for an interval. If every push wrote that row, each read would scan all
    /// versions of the row while an old snapshot is held.
    @discardableResult
    func end(_ ends: [PushEnd], now: Date) async throws -> Set<DuePush> {
        if ends.isEmpty { return [] }
        let kinds = PushEvent.Kind.allCases.filter(self.keeps).map(\.rawValue)
        let rows = try await self.query(Self.settlePushes, values: Self.values(ends, now: now) + [kinds])
        var ended: Set<DuePush> = []
        ended.reserveCapacity(rows.count)
        for row in rows {
            let push = try DuePush(row)
            let (lane, state) = (try row.text("lane"), TallyState(rawValue: try row.text("state")))
            ended.insert(push)
            guard let state else { continue }
            self.count(state, lane: lane)
            guard let kind = PushEvent.Kind(rawValue: state.rawValue), self.keeps(kind), !Lane(stored: lane).isOfLooks
            else { continue }
            self.record(
                NewEvent(
                    kind: kind,
                    at: now,
                    notification: push.notification,
                    device: push.device,
                    user: try row.integer("user_id"),
                    lane: lane,
                    sender: try row.optionalInteger("sender_id"),
                    reason: try row.optionalText("reason")
                )
            )
        }
        return ended
    }

    /// Ends a large batch of pushes without reading them back: the database only counts them.
    /// Throws `EndedBefore` if one of the pushes had already ended.
    func endAll(_ ends: [PushEnd], now: Date) async throws {
        guard !PushEvent.Kind.allCases.contains(where: self.keeps) else {
            try await self.end(ends, now: now)
            return
        }
        if ends.isEmpty { return }
        do {
            for row in try await self.query(Self.settleAndCountPushes, values: Self.values(ends, now: now)) {
                guard let state = TallyState(rawValue: try row.text("state")) else { continue }
                self.count(state, lane: try row.text("lane"), by: Int(try row.integer("count")))
            }
        } catch DatabaseError.refused(code: "23505", _) {
            throw EndedBefore()
        }
    }

    // MARK: - Private

    /// The precision of the stored time of a device's last push, in milliseconds.
    private static let grain: Int64 = 60_000

    private static func values(_ ends: [PushEnd], now: Date) -> [any Bindable] {
        // The pushes are sorted by their keys, so that two transactions do not deadlock.
        let ends = ends.sorted { $0.push < $1.push }
        return [
            ends.map(\.push.notification),
            ends.map(\.push.device),
            ends.map(\.state.rawValue),
            ends.map(\.reason),
            ends.map(\.providerID),
            ends.map(\.owner),
            ends.map(\.address),
            now.milliseconds,
            ends.contains(where: \.isPaced) ? now.milliseconds : now.milliseconds - Self.grain,
        ]
    }

    /// Settles pushes and returns each of them. `$10` contains the kinds of events that the store
    /// keeps; for these, the notification's sender is read, too.
    ///
    /// A push may have ended already and been enqueued again, so the statement looks for its key
    /// in `push_end`. `on conflict` would instead add an entry to the write-ahead log for each
    /// push, and read the index twice. No other transaction can end the push meanwhile: it would
    /// have to delete the same row of `push`.
    ///
    /// The lookup is a scalar subquery. `not exists` would become a join, which reads the whole
    /// table if the planner assumes that the table is small.
    static let settlePushes = WriteTransaction.statement(
        inserting: "where (select x.state from push_end x where \(DuePush.equal("x", "g"))) is null",
        returning: """
            select g.notification_id, g.device, g.user_id, g.lane, g.state, g.reason,
                case when g.state = any($10::text[]) then (
                    select n.sender_id from notification n where n.id = g.notification_id) end as sender_id
            from gone g
            """
    )

    static let settleAndCountPushes = WriteTransaction.statement(
        inserting: "",
        returning: "select g.lane, g.state, count(*) from gone g group by g.lane, g.state"
    )

    /// The statement that settles pushes. It does not compare `handle_key` if the row of `device`
    /// is a claim to a handle: such a row never gets another address.
    private static func statement(inserting condition: String, returning report: String) -> String {
        """
        with e as (
            select * from unnest($1::int8[], $2::int8[], $3::text[], $4::text[], $5::text[], $6::int8[], $7::bytea[])
                as e (notification_id, device, state, reason, provider_id, owner, handle_key)),
        gone as (
            delete from push p using e where \(DuePush.equal("p", "e"))
                and (e.owner is null or p.owner is null or p.owner = e.owner)
                and (e.handle_key is null or not exists (
                    select 1 from device v where v.number = p.device and v.retired_at is null and v.claims_for is null
                        and (v.handle_key <> e.handle_key or v.lane <> \(lane("p")))))
            returning p.notification_id, p.device, p.user_id, p.lane, p.is_bulk, p.attempts, e.state, e.reason,
                e.provider_id),
        ended as (
            insert into push_end (notification_id, device, user_id, lane, is_bulk, state, attempts, settled_at, reason,
                provider_id)
            select notification_id, device, user_id, lane, is_bulk, state, attempts, $8, reason, provider_id from gone g
            \(condition)),
        accepted as (
            insert into device_push (device, accepted_at)
            select distinct g.device, $8::int8 from gone g
            where g.state = 'accepted' and g.lane not like '%\(Lane.lookSuffix)'
                and coalesce((select a.accepted_at from device_push a where a.device = g.device), 0) <= $9
            order by g.device
            on conflict (device) do update set accepted_at = excluded.accepted_at)
        \(report)
        """
    }
}

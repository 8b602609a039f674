package import Foundation
internal import PostgreSQL
package import PushCore
package import PushStore
internal import Synchronization

/// Leases pushes. A lease does not expire: when the server that holds it is fenced, other servers
/// take over the leased pushes.
extension PostgreSQLStore {
    package func lease(_ request: LeaseRequest, now: Date) async throws -> [LeasedDelivery] {
        var leasing = Leasing(request.lane, interval: request.interval, by: self, now: now)
        leasing.countsUnread = request.countsUnread
        return try await self.lease(leasing) { leasing, tx in
            let (lane, queue) = (request.lane, request.queue)
            let search = self.marks.begin(.pushes(lane, queue), lifetime: SearchMarks.lifetime, at: .now)
            func find(_ comparison: String, limit: Int) async throws -> [DueDelivery] {
                let condition = "p.lane = $1 and p.is_bulk = $2 and p.due_at <= $3 and p.due_at \(comparison) $4"
                let values: [any Bindable] = [lane.description, queue == .bulk, now.milliseconds, search.start]
                return try await leasing.find(where: condition, values, limit: limit, tx)
            }
            var due = try await find(">=", limit: request.limit)
            let continuesBelow = search.mayContinueBelow && due.count < request.limit
            // The search continues below its start, since pushes with earlier due times may have
            // been inserted, although this is rare.
            if continuesBelow { due += try await find("<", limit: request.limit - due.count) }
            due.sort { $0.precedes($1) }
            self.marks.endLease(
                search,
                first: due.count < request.limit ? nil : due.first?.dueAt,
                continuedBelow: continuesBelow,
                date: now.milliseconds,
                at: .now
            )
            return due
        }
    }

    package func leaseProbe(
        _ push: DuePush,
        from lane: Lane,
        interval: Duration?,
        now: Date
    ) async throws -> LeasedDelivery? {
        var leasing = Leasing(lane, interval: interval, by: self, now: now)
        leasing.isProbe = true
        return try await self.lease(leasing) { leasing, tx in
            // The push may have been cancelled or leased since a reader found it.
            let condition = "p.notification_id = $1 and p.device = $2 and p.lane = $3 and p.due_at <= $4"
            let values: [any Bindable] = [push.notification, push.device, lane.description, now.milliseconds]
            return try await leasing.find(where: condition, values, limit: 1, tx)
        }.first
    }

    package func reclaimLeases(now: Date) async throws {
        let leases = self.leases.all
        if leases.isEmpty { return }
        try await self.write { tx in
            _ = try await tx.query(Self.reclaim, keys: leases.map(\.push), leases.map(\.owner), now.milliseconds)
        }
        self.leases.forget(leases.map(\.push))
        // These pushes are due from now on. If the clock was set back, later searches might
        // otherwise begin after the pushes' due time, and miss them.
        self.marks.forgetAll()
    }

    /// Whether the pushes of a lane (a queue) go to event streams: only the server at which a
    /// device has its stream sends them.
    func hasStreams(_ lane: Lane) -> Bool { self.options.streamLanes.contains(lane.description) }

    // MARK: - Private

    /// Runs a transaction that leases those pushes that `select` has locked.
    private func lease(
        _ leasing: Leasing,
        _ select: @escaping @Sendable (Leasing, WriteTransaction) async throws -> [DueDelivery]
    ) async throws -> [LeasedDelivery] {
        if self.leases.takeSearch(now: .now) { try await self.findLostLeases() }
        // The leases of the transaction's last run, which may fail or be repeated. The runs come
        // one after the other, but on different threads.
        let recorded = Mutex([DuePush]())
        // As far as is known, the last run was not committed.
        @Sendable func forgetLastRun() {
            let last = recorded.withLock { pushes in
                defer { pushes = [] }
                return pushes
            }
            self.leases.forget(last)
        }
        do {
            // The commit of a lease does not wait for the disk. If a crash of the database undoes
            // a lease, the push is leased and sent again. The push is also sent again if the
            // server that has leased it dies during the sending.
            return try await self.write([.relaxed, .ordered]) { tx in
                forgetLastRun()
                let leased = try await leasing.lease(try await select(leasing, tx), tx)
                recorded.withLock { $0 = leased.map(\.key) }
                self.leases.record(leased.map(\.key), under: leasing.owner)
                return leased
            }
        } catch {
            forgetLastRun()
            self.leases.recordUnknownOutcome(now: .now)
            throw error
        }
    }

    /// Finds leases of this server that the `LeaseBook` lacks, because nobody knew whether their
    /// commit had succeeded. Releases these leases.
    private func findLostLeases() async throws {
        let (book, owner) = (self.leases, self.membership.number)
        do {
            try await self.write { tx in
                let found = try await tx.query(Self.own, owner).map(DuePush.init)
                let lost = zip(found, book.owners(of: found)).filter { $0.1 == nil }.map(\.0)
                try await tx.query(Self.giveBack, keys: lost, owner)
            }
        } catch {
            book.recordUnknownOutcome(now: .now)
            throw error
        }
    }

    static let reclaim = """
        update push p set owner = null, due_at = $4
        from unnest($1::int8[], $2::int8[], $3::int8[]) as k (notification_id, device, owner)
        where \(DuePush.equal("p", "k")) and p.owner = k.owner
        """

    /// Selects the pushes that a server has leased. This query has no index because it seldom
    /// runs: each lease and each settlement would have to update that index.
    static let own = "select notification_id, device from push where owner = $1"

    static let giveBack = """
        update push p set owner = null from unnest($1::int8[], $2::int8[]) as k (notification_id, device)
        where \(DuePush.equal("p", "k")) and p.owner = $3
        """

    package func change(
        _ push: SinglePush,
        _ change: PushChange,
        by record: AuditRecord?,
        now: Date
    ) async throws -> PushChangeOutcome {
        try await self.write { [membership] tx in
            let (id, name) = (push.notification.rawValue, push.device.description)
            let number = try await tx.query(Self.findDevice, id, name, now.milliseconds, push.sender).first?.integer()
            guard let device = number, let (standing, lane) = try await tx.standing(id, device: device) else {
                return change.outcome(for: nil, now: now)
            }
            let outcome = change.outcome(for: standing, now: now)
            guard outcome == .done else { return outcome }
            switch change {
            case .cancel:
                let pushes = [DuePush(notification: id, device: device)]
                try await tx.cancel(pushes, reason: PushReason.cancelled, now: now)
            case .hasten:
                _ = try await tx.query(Self.hasten, id, device, now.milliseconds)
                // The device's event stream may be at another server. In this case, that server
                // must send the push.
                tx.afterCommit { membership.announce(workIn: [lane]) }
            }
            if let record { tx.append(record) }
            return outcome
        }
    }

    static let findDevice = """
        select d.number from notification n join device d on d.id = $2
        where n.id = $1 and n.expires_at > $3 and n.recalled_at is null and ($4::int8 is null or n.sender_id = $4)
        """
    static let hasten = "update push set due_at = $3 where notification_id = $1 and device = $2 and owner is null"
}

internal import Foundation
internal import PushCore
internal import PushStore
internal import SQLite

/// A due row of the outbox, with the columns that decide whether it is sent.
struct DueDelivery {
    enum Decision {
        case send(Push)
        case wait(until: Date)
        case settle(TallyState, reason: String?)
    }

    let notification: Int64
    let device: Int64
    let user: Int64
    let attempts: Int
    private let isCancelled: Bool
    private let cancelReason: String?
    private let handle: Result<String, VaultError>?
    private let isRetired: Bool
    private let isRecalled: Bool
    private let seed: Int64
    private let sequence: Int64
    private let expiresAt: Int64
    private let priority: String
    private let collapseID: String?
    /// When a provider last accepted a push to the device's address.
    private let acceptedAt: Int64?
    /// Whether this is the device's only push that is not settled.
    private let isAlone: Bool
    /// The lane of the device's address, if it has one.
    let lane: String?
    /// Set if the device is a claim: the code, the only content of its push.
    private let confirmation: ConfirmationCode?
    /// The alert of the notification's pushes; `nil`: their sender's constants.
    private let alert: Result<PushAlert, VaultError>?
    /// Set if accounts share the handle: the registration of this one.
    private let shared: RegistrationID?

    /// The keys of a queue's due pushes, oldest first.
    static func keys(_ db: Database, _ request: LeaseRequest, now: Date) throws -> [DuePush] {
        try db.all(
            prepared: Self.due,
            request.lane.description,
            request.queue.rawValue,
            now.milliseconds,
            request.limit
        ) {
            DuePush(notification: $0.integer(0), device: $0.integer(1))
        }
    }

    static let due = """
        select notification_id, device from delivery
        where lane = ? and is_bulk = ? and state = 'queued' and due_at <= ? order by due_at limit ?
        """

    /// Reads a row; `nil` if its device or its notification does not exist. `needsAcceptance`:
    /// also reads `acceptedAt` and `isAlone`.
    static func fetch(
        _ db: Database,
        _ key: DuePush,
        needsAcceptance: Bool,
        _ sealing: Sealing,
        _ alerts: OpenedAlerts
    ) throws -> DueDelivery? {
        try db.first(prepared: Self.row, key.notification, key.device, needsAcceptance) { row in
            DueDelivery(
                notification: key.notification,
                device: key.device,
                user: row.integer(DueColumn.user),
                attempts: Int(clamping: row.integer(DueColumn.attempts)),
                isCancelled: row.flag(DueColumn.isCancelled),
                cancelReason: row.optionalText(DueColumn.cancelReason),
                handle: row.isNull(DueColumn.handle)
                    ? nil
                    : Result { () throws(VaultError) in
                        let handle = try sealing.vault.open(row.data(DueColumn.handle), in: .handle(key.device))
                        return String(decoding: handle, as: UTF8.self)
                    },
                isRetired: row.flag(DueColumn.isRetired),
                isRecalled: row.flag(DueColumn.isRecalled),
                seed: row.integer(DueColumn.seed),
                sequence: row.integer(DueColumn.sequence),
                expiresAt: row.integer(DueColumn.expiresAt),
                priority: row.text(DueColumn.priority),
                collapseID: row.optionalText(DueColumn.collapseID),
                acceptedAt: row.isNull(DueColumn.acceptedAt) ? nil : row.integer(DueColumn.acceptedAt),
                isAlone: row.integer(DueColumn.unsettled) == 1,
                lane: row.optionalText(DueColumn.lane),
                confirmation: row.isNull(DueColumn.claim)
                    ? nil
                    : sealing.codes.code(
                        of: key.notification,
                        seed: row.integer(DueColumn.seed),
                        claim: row.data(DueColumn.claim)
                    ),
                alert: row.isNull(DueColumn.alert)
                    ? nil
                    : alerts.alert(of: key.notification) { () throws(VaultError) in
                        try sealing.alert(
                            row.data(DueColumn.alert),
                            of: key.notification,
                            sender: row.integer(DueColumn.sender)
                        )
                    },
                shared: row.optionalText(DueColumn.shared).flatMap(RegistrationID.init)
            )
        }
    }

    /// `?3`: `needsAcceptance`.
    static let row = """
        select \(DueColumn.list)
        from delivery d join device v on v.number = d.device join notification n on n.id = d.notification_id
        where d.notification_id = ?1 and d.device = ?2
        """

    /// Whether a provider has accepted a push to the device's address; known only with
    /// `needsAcceptance`.
    var isAddressKnown: Bool { self.acceptedAt != nil }

    /// Whether its address or its alert is damaged, and not only encrypted with a missing key.
    var isDamaged: Bool {
        if case .failure(.unreadable) = self.handle { return true }
        if case .failure(.unreadable) = self.alert { return true }
        return false
    }

    /// Decides whether the push is sent, waits or is settled. `interval`: the shortest time
    /// between two pushes to one device.
    func decision(_ db: Database, interval: Duration?, now: Date) throws -> Decision {
        let decision = self.unpacedDecision(now: now)
        guard case .send(let push) = decision, let interval else { return decision }
        return try self.pacedDecision(push, interval: interval.timeInterval, db, now: now)
    }

    func postpone(_ db: Database, until date: Date, reason: String) throws {
        try db.run(
            prepared: """
                update delivery set state = 'queued', due_at = ?, reason = ? where notification_id = ? and device = ?
                """,
            date.milliseconds,
            reason,
            self.notification,
            self.device
        )
    }

    func settle(_ db: Database, as state: TallyState, reason: String?, now: Date) throws {
        try Self.settle(
            DuePush(notification: self.notification, device: self.device),
            db,
            as: state,
            reason: reason,
            now: now
        )
    }

    static func settle(_ key: DuePush, _ db: Database, as state: TallyState, reason: String?, now: Date) throws {
        try db.run(
            prepared: """
                update delivery set state = ?, settled_at = ?, reason = ? where notification_id = ? and device = ?
                """,
            state.rawValue,
            now.milliseconds,
            reason,
            key.notification,
            key.device
        )
    }

    // MARK: - Private

    private func unpacedDecision(now: Date) -> Decision {
        guard self.expiresAt > now.milliseconds else { return .settle(.expired, reason: nil) }
        if self.isRecalled { return .settle(.cancelled, reason: PushReason.recalled) }
        if self.isCancelled { return .settle(.cancelled, reason: self.cancelReason) }
        // One damaged row must not stop the others.
        if case .failure(let error) = self.handle { return .settle(.failed, reason: "\(error)") }
        if case .failure(let error) = self.alert { return .settle(.failed, reason: "\(error)") }
        guard !self.isRetired, let push = self.push else {
            return .settle(.cancelled, reason: PushReason.noDevice)
        }
        return .send(push)
    }

    /// Of several pushes that wait for the interval to pass, only the newest is sent: it wakes the
    /// app for all of them.
    private func pacedDecision(
        _ push: Push,
        interval: TimeInterval,
        _ db: Database,
        now: Date
    ) throws -> Decision {
        let accepted = self.acceptedAt.map { Date(milliseconds: $0) }
        // The usual case needs no other query.
        if self.isAlone, accepted.map({ $0 + interval <= now }) ?? true { return .send(push) }
        if try self.hasNewerPush(db) {
            return .settle(.cancelled, reason: PushReason.replaced)
        }
        let last = try self.isAnotherUnderWay(db) ? now : accepted
        guard let last, last + interval > now else { return .send(push) }
        return .wait(until: last + interval)
    }

    private var push: Push? {
        guard
            let id = NotificationID(rawValue: self.notification), case .success(let handle) = self.handle,
            let priority = Push.Priority(rawValue: self.priority)
        else { return nil }
        let alert: PushAlert? = if case .success(let alert) = self.alert { alert } else { nil }
        return Push(
            notification: id,
            handle: handle,
            attemptID: Push.attemptID(seed: self.seed, device: self.device),
            expiresAt: Date(milliseconds: self.expiresAt),
            priority: priority,
            sharedCollapseID: self.collapseID,
            confirmation: self.confirmation,
            alert: alert,
            sharedBy: self.shared
        )
    }

    /// Whether a newer push waits for the same device.
    private func hasNewerPush(_ db: Database) throws -> Bool {
        let newer = try db.first(prepared: Self.newer, self.device, self.notification, self.sequence) { _ in true }
        return newer == true
    }

    static let newer = """
        select 1 from delivery x join notification m on m.id = x.notification_id
        where x.device = ?1 and x.settled_at is null and x.due_at is not null and x.is_withdrawn = 0
            and x.lane not like '%\(Lane.lookSuffix)'
            and x.notification_id <> ?2 and (m.sequence, m.id) > (?3, ?2)
        limit 1
        """

    /// Whether another push to the same device is being sent.
    private func isAnotherUnderWay(_ db: Database) throws -> Bool {
        let isUnderWay = try db.first(prepared: Self.underWay, self.device, self.notification) { _ in true }
        return isUnderWay == true
    }

    static let underWay = """
        select 1 from delivery
        where device = ?1 and settled_at is null and due_at is not null and state = 'sending' and notification_id <> ?2
            and lane not like '%\(Lane.lookSuffix)'
        limit 1
        """
}

/// The columns of `DueDelivery.row`.
private enum DueColumn: Int32, SelectedColumn {
    case user, attempts, isCancelled, cancelReason, handle, isRetired, isRecalled, seed, sequence, expiresAt, priority
    case collapseID, acceptedAt, unsettled, lane, claim, alert, sender, shared

    var sql: String {
        switch self {
        case .user: "d.user_id"
        case .attempts: "d.attempts"
        case .isCancelled: "d.is_withdrawn"
        case .cancelReason: "d.reason"
        case .handle: "v.handle"
        case .isRetired: "v.retired_at is not null"
        case .isRecalled: "n.recalled_at is not null"
        case .seed: "n.seed"
        case .sequence: "n.sequence"
        case .expiresAt: "n.expires_at"
        case .priority: "n.priority"
        case .collapseID: "n.collapse_id"
        case .acceptedAt: "(select accepted_at from device_push where device = d.device and ?3)"
        case .unsettled:
            """
            (select count(*) from (
                select 1 from delivery x where x.device = d.device and x.settled_at is null and x.due_at is not null
                    and x.lane not like '%\(Lane.lookSuffix)' and ?3 limit 2))
            """
        case .lane: "v.lane"
        case .claim: "case when v.claims_for is not null then v.handle_key end"
        case .alert: "n.alert"
        case .sender: "n.sender_id"
        case .shared: "case when v.is_shared then v.id end"
        }
    }
}

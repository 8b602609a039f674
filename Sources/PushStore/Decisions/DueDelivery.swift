package import Foundation
package import PushCore

/// A due row of the outbox, with the facts that decide whether the push is sent.
package struct DueDelivery: Sendable {
    package enum Decision: Sendable, Hashable {
        case send(Push)
        case settle(TallyState, reason: String?)
        /// The push is encrypted with this key, which this server lacks. Another server has the
        /// key, or an operator will add it here.
        case waitForKey(UInt32)
        /// The push moves to the device's present lane (a provider's queue): a provider must never
        /// see an address at another provider.
        case move(to: String)
    }

    package let key: DuePush
    package let user: Int64
    package let isCancelled: Bool
    package let dueAt: Int64
    let notification: DueNotification?
    let attempts: Int
    let cancelReason: String?
    let handle: Result<String, VaultError>?
    let isRetired: Bool
    /// The lane (a provider's queue) of the device's address; `nil` if the device has no address.
    let lane: String?
    /// The confirmation code, if the row belongs to an unconfirmed claim to a handle. The push
    /// then contains only this code.
    let confirmation: ConfirmationCode?
    /// The registration that gets the push, if several accounts may share the handle.
    let shared: RegistrationID?

    /// The columns, for queries that name the outbox `c` and the table of devices `v`.
    package enum Column: Int32, SelectedColumn {
        case notificationID, device, userID, attempts, isCancelled, reason, dueAt, handle, isRetired, lane, claim
        case shared

        package var sql: String {
            switch self {
            case .isCancelled: "c.is_withdrawn"
            case .isRetired: "v.retired_at is not null"
            case .handle, .lane: "v.\(self.columnName)"
            case .claim: "case when v.claims_for is not null then v.handle_key end"
            case .shared: "case when v.is_shared then v.id end"
            default: "c.\(self.columnName)"
            }
        }
    }

    /// The notification's place in the order of notifications.
    package var sequence: Int64 { self.notification?.sequence ?? 0 }

    /// Whether this push's notification is older than the notification of `other`.
    package func isOlder(than other: DueDelivery) -> Bool {
        (self.sequence, self.key.notification) < (other.sequence, other.key.notification)
    }

    /// Whether this push is sent before `other`. Pushes that become due at the same time, for
    /// example those of a batch, are sent in the order of their notifications.
    package func precedes(_ other: DueDelivery) -> Bool {
        (self.dueAt, self.sequence, self.key.notification, self.key.device)
            < (other.dueAt, other.sequence, other.key.notification, other.key.device)
    }

    /// Whether the push's address or alert is damaged. `false` if it is only encrypted with a key
    /// that this server lacks.
    package var isDamaged: Bool { self.failures.contains(.unreadable) }

    /// Decides what happens to the push, which is due in the lane (a provider's queue) `lane`. The
    /// minimum interval between two pushes to a device is not considered here; `Pace` decides
    /// about it.
    ///
    /// `othersHaveKeys`: other servers share the store, and may have a key that this server lacks.
    package func decision(in lane: String, othersHaveKeys: Bool, now: Date) -> Decision {
        if let own = self.lane, own != Lane(stored: lane).ofDevices.description { return .move(to: own) }
        guard let notification, notification.expiresAt > now.milliseconds else {
            return .settle(.expired, reason: nil)
        }
        if notification.isRecalled { return .settle(.cancelled, reason: PushReason.recalled) }
        if self.isCancelled { return .settle(.cancelled, reason: self.cancelReason) }
        if othersHaveKeys {
            for case .keyMissing(let number) in self.failures { return .waitForKey(number) }
        }
        // If the row is damaged, only this push fails: other pushes must still be sent.
        if let error = self.failures.first { return .settle(.failed, reason: "\(error)") }
        // The device may have been deleted while this push was being enqueued.
        guard !self.isRetired, let push = self.push(of: notification) else {
            return .settle(.cancelled, reason: PushReason.noDevice)
        }
        return .send(push)
    }

    /// The leased delivery for a push that is sent now.
    package func leased(_ push: Push, isAddressKnown: Bool, isPaced: Bool = false) -> LeasedDelivery {
        LeasedDelivery(
            device: self.key.device,
            user: self.user,
            push: push,
            state: DeliveryState(attempts: self.attempts &+ 1, expiresAt: push.expiresAt),
            isAddressKnown: isAddressKnown,
            isPaced: isPaced
        )
    }

    private var failures: [VaultError] {
        [self.handle?.failure, self.notification?.alert?.failure].compactMap { $0 }
    }

    private func push(of notification: DueNotification) -> Push? {
        guard
            let id = NotificationID(rawValue: self.key.notification), case .success(let handle) = self.handle,
            let priority = Push.Priority(rawValue: notification.priority)
        else { return nil }
        var push = Push(
            notification: id,
            handle: handle,
            attemptID: Push.attemptID(seed: notification.seed, device: self.key.device),
            expiresAt: Date(milliseconds: notification.expiresAt),
            priority: priority,
            sharedCollapseID: notification.collapseID,
            sharedBy: self.shared
        )
        push.confirmation = self.confirmation
        if case .success(let alert)? = notification.alert { push.alert = alert }
        return push
    }
}

extension DueDelivery {
    package init<Row: StoredRow & ~Copyable>(
        _ row: borrowing Row,
        of notification: DueNotification?,
        _ sealing: Sealing
    ) throws {
        let key = DuePush(notification: try row.integer(Column.notificationID), device: try row.integer(Column.device))
        self.key = key
        self.notification = notification
        self.user = try row.integer(Column.userID)
        self.attempts = Int(clamping: try row.integer(Column.attempts))
        self.isCancelled = try row.flag(Column.isCancelled)
        self.cancelReason = try row.optionalText(Column.reason)
        self.dueAt = try row.integer(Column.dueAt)
        self.handle = try row.optionalData(Column.handle).map { sealed in
            Result { () throws(VaultError) in
                String(decoding: try sealing.vault.open(sealed, in: .handle(key.device)), as: UTF8.self)
            }
        }
        self.isRetired = try row.flag(Column.isRetired)
        self.lane = try row.optionalText(Column.lane)
        let seed = notification?.seed ?? 0
        self.confirmation = try row.optionalData(Column.claim).map {
            sealing.codes.code(of: key.notification, seed: seed, claim: $0)
        }
        self.shared = try row.optionalText(Column.shared).flatMap(RegistrationID.init)
    }
}

/// The facts about a notification that decide what happens to its pushes. A store often leases
/// hundreds of pushes of one notification together, so it decrypts the alert once for all of them.
package struct DueNotification: Sendable {
    package let isRecalled: Bool
    package let seed: Int64
    /// The notification's place in the order of notifications.
    package let sequence: Int64
    package let expiresAt: Int64
    package let priority: String
    package let collapseID: String?
    /// The text that its pushes show; `nil`: they show the fixed text that is configured for the
    /// provider.
    package let alert: Result<PushAlert, VaultError>?

    /// The columns, for queries that name the table of notifications `n`. The queries select them
    /// after other columns.
    package enum Column: Int32, SelectedColumn {
        case senderID, isRecalled, seed, sequence, expiresAt, priority, collapseID, alert

        package var sql: String { self == .isRecalled ? "n.recalled_at is not null" : "n.\(self.columnName)" }
    }
}

extension DueNotification {
    /// Reads the columns, which begin at the row's column `start`. `open` decrypts the alert of
    /// the notification of a sender.
    package init<Row: StoredRow & ~Copyable>(
        _ row: borrowing Row,
        from start: Int32,
        open: (_ alert: Data, _ sender: Int64) -> Result<PushAlert, VaultError>
    ) throws {
        let sender = try row.integer(start + Column.senderID.rawValue)
        self.init(
            isRecalled: try row.flag(start + Column.isRecalled.rawValue),
            seed: try row.integer(start + Column.seed.rawValue),
            sequence: try row.integer(start + Column.sequence.rawValue),
            expiresAt: try row.integer(start + Column.expiresAt.rawValue),
            priority: try row.text(start + Column.priority.rawValue),
            collapseID: try row.optionalText(start + Column.collapseID.rawValue),
            alert: try row.optionalData(start + Column.alert.rawValue).map { open($0, sender) }
        )
    }
}

extension Result {
    fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}

internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

/// A due row of the outbox, locked, with the columns that decide whether it is sent.
struct DueDelivery {
    enum Decision {
        case send(Push)
        case settle(TallyState, reason: String?)
        /// The push is encrypted with this key, which this process lacks. Another process has it,
        /// or this one will get it.
        case waitForKey(UInt32)
        /// The device has another lane: this provider must never see an address at another
        /// provider.
        case move
    }

    let key: DuePush
    let user: Int64
    let attempts: Int
    let dueAt: Int64
    let isCancelled: Bool
    /// The notification's place in the order of notifications.
    var sequence: Int64 { self.notification?.sequence ?? 0 }
    private let notification: DueNotification?
    private let cancelReason: String?
    private let handle: Result<String, VaultError>?
    private let isDeviceThere: Bool
    private let isRetired: Bool
    /// The lane of the device's address, if it has one.
    private let lane: String?
    /// Set if the device is a claim: its push contains only this code.
    private let confirmation: ConfirmationCode?
    /// Set if accounts share the handle: the registration of this one.
    private let shared: RegistrationID?

    /// Decodes rows of `select`, and reads the notifications of their pushes.
    static func all(_ rows: Rows, _ tx: WriteTransaction) async throws -> [DueDelivery] {
        let ids = Set(try rows.map { try $0.integer(0) })
        let notifications = try await DueNotification.all(ids, tx)
        return try rows.map { try DueDelivery($0, of: notifications[$0.integer(0)], tx.sealing) }
    }

    private init(_ row: Row, of notification: DueNotification?, _ sealing: Sealing) throws {
        let key = DuePush(notification: try row.integer(0), device: try row.integer(1))
        self.key = key
        self.notification = notification
        self.user = try row.integer(2)
        self.attempts = Int(clamping: try row.integer(3))
        self.isCancelled = try row.boolean(4)
        self.cancelReason = try row.optionalText(5)
        self.dueAt = try row.integer(6)
        self.isDeviceThere = try row.boolean(7)
        self.handle = try row.optionalData(8).map { sealed in
            Result { () throws(VaultError) in
                String(decoding: try sealing.vault.open(sealed, in: .handle(key.device)), as: UTF8.self)
            }
        }
        self.isRetired = try row.boolean(9)
        self.lane = try row.optionalText(10)
        let seed = notification?.seed ?? 0
        self.confirmation = try row.optionalData(11).map {
            sealing.codes.code(of: key.notification, seed: seed, claim: $0)
        }
        self.shared = try row.optionalText(12).flatMap(RegistrationID.init)
    }

    /// Holds for a push, here called `p`, that no living process has leased.
    static let isFree = "(p.owner is null or p.owner <> all (array(select number from node where not is_fenced)))"

    /// Locks the pushes that meet a condition, oldest first, and reads the columns that decide
    /// about them.
    ///
    /// Skips pushes that another transaction has locked, so it never waits.
    static func select(where condition: String, limit: String) -> String {
        """
        with c as materialized (
            select p.notification_id, p.device, p.user_id, p.attempts, p.is_withdrawn, p.reason, p.due_at from push p
            where \(condition) and \(Self.isFree) order by p.due_at limit \(limit) for update of p skip locked)
        select c.notification_id, c.device, c.user_id, c.attempts, c.is_withdrawn, c.reason, c.due_at,
            v.number is not null, v.handle, v.retired_at is not null, v.lane,
            case when v.claims_for is not null then v.handle_key end, case when v.is_shared then v.id end
        from c left join device v on v.number = c.device
        """
    }

    /// Whether its address or its alert is damaged, and not merely encrypted with a missing key.
    var isDamaged: Bool {
        if case .failure(.unreadable) = self.handle { return true }
        if case .failure(.unreadable) = self.notification?.alert { return true }
        return false
    }

    /// Decides about the push in a lane, apart from the interval between two pushes to its device.
    func decision(in lane: String, now: Date) -> Decision {
        if let own = self.lane, own != Lane(stored: lane).ofDevices.description { return .move }
        guard let notification, notification.expiresAt > now.milliseconds else {
            return .settle(.expired, reason: nil)
        }
        if notification.isRecalled { return .settle(.cancelled, reason: PushReason.recalled) }
        if self.isCancelled { return .settle(.cancelled, reason: self.cancelReason) }
        if let number = self.missingKey { return .waitForKey(number) }
        // One damaged row must not stop the others.
        if case .failure(let error) = self.handle { return .settle(.failed, reason: "\(error)") }
        if case .failure(let error) = notification.alert { return .settle(.failed, reason: "\(error)") }
        // A device may be deleted while a push to it is enqueued.
        guard self.isDeviceThere, !self.isRetired, let push = self.push(of: notification) else {
            return .settle(.cancelled, reason: PushReason.noDevice)
        }
        return .send(push)
    }

    /// Whether its notification is older than another one.
    func isOlder(than other: DueDelivery) -> Bool {
        (self.sequence, self.key.notification) < (other.sequence, other.key.notification)
    }

    // MARK: - Private

    private var missingKey: UInt32? {
        if case .failure(.keyMissing(let number)) = self.handle { return number }
        if case .failure(.keyMissing(let number)) = self.notification?.alert { return number }
        return nil
    }

    private func push(of notification: DueNotification) -> Push? {
        guard
            let id = NotificationID(rawValue: self.key.notification), case .success(let handle) = self.handle,
            let priority = Push.Priority(rawValue: notification.priority)
        else { return nil }
        let alert: PushAlert? = if case .success(let alert) = notification.alert { alert } else { nil }
        return Push(
            notification: id,
            handle: handle,
            attemptID: Push.attemptID(seed: notification.seed, device: self.key.device),
            expiresAt: Date(milliseconds: notification.expiresAt),
            priority: priority,
            sharedCollapseID: notification.collapseID,
            confirmation: self.confirmation,
            alert: alert,
            sharedBy: self.shared
        )
    }
}

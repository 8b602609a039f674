package import Foundation
package import PushCore

/// A value that is decoded from a row, whichever database the store uses.
package protocol StoredEntity {
    /// Decodes a row. `nil` if a value of the row is one that this version never writes. Throws if
    /// a value cannot be decrypted.
    init?<Row: StoredRow & ~Copyable>(_ row: borrowing Row, _ sealing: Sealing) throws
}

/// A value for a parameter of a statement.
package enum StoredValue: Sendable {
    case integer(Int64?)
    case text(String)
    case bytes(Data)
    case integers([Int64])
}

/// A reader of lists and single entries. Each kind of database has its own statements for them.
///
/// The functions here pass the statements' values, and decode their rows, for all kinds of
/// databases. A statement must have its parameters in the order of the values that its function
/// passes.
package protocol SharedReader: Sendable {
    var sealing: Sealing { get }

    /// Runs a statement, and decodes its rows.
    func all<Entity: StoredEntity>(_ sql: String, _ values: [StoredValue]) async throws(StoreError) -> [Entity]

    static var accountWithID: String { get }
    static var accountNamed: String { get }
    static var passwordOf: String { get }
    static var lastUser: String { get }
    static var passwordFrom: String { get }
    static var anyUser: String { get }
    static var usersAfter: String { get }
    static var entryNamed: String { get }
    static var codeInUse: String { get }
    static var allTokens: String { get }
    static var tokensOfOne: String { get }
    static var registeredDevices: String { get }
    static var registeredDevice: String { get }
    static var moved: String { get }
    static var allDevices: String { get }
    static var devicesOfOne: String { get }
    static var deviceOfID: String { get }
    static var claims: String { get }
    static var apps: String { get }
    static var isThere: String { get }
    static var isFanningOut: String { get }
    static var deliveries: String { get }
    static var deliveriesToUser: String { get }
    static var counts: String { get }
    static var failedPushes: String { get }
    static var recipients: String { get }
    static var summary: String { get }
    static var latestNotifications: String { get }
    static var sendTime: String { get }
    static var delivered: String { get }
    static var lastAudit: String { get }
}

extension SharedReader {
    private func exists(_ sql: String, _ values: [StoredValue] = []) async throws(StoreError) -> Bool {
        let rows: [AnyRow] = try await self.all(sql, values)
        return !rows.isEmpty
    }

    private func first<Entity: StoredEntity>(
        _ sql: String,
        _ values: StoredValue...
    ) async throws(StoreError) -> Entity? {
        let rows: [Entity] = try await self.all(sql, values)
        return rows.first
    }

    private func number(_ sql: String, _ values: [StoredValue] = []) async throws(StoreError) -> Int64? {
        let rows: [Number] = try await self.all(sql, values)
        return rows.first?.value
    }

    // MARK: Accounts

    package func issuedAccount(of user: User) async throws(StoreError) -> IssuedAccount? {
        let account: StoredAccount? = try await self.first(Self.accountWithID, .integer(user.id))
        return account?.issued
    }

    package func tags(ofUser name: Username) async throws(StoreError) -> [Tag]? {
        let account: AccountTags? = try await self.first(Self.accountNamed, .bytes(self.sealing.index.hash(name)))
        return account?.tags
    }

    package func password(of user: User) async throws(StoreError) -> PasswordHash? {
        let found: StoredPassword? =
            try await self.first(Self.passwordOf, .integer(user.id), .integer(user.passwordNumber))
        return found?.hash
    }

    package func password(chosenBy number: UInt64) async throws(StoreError) -> PasswordHash? {
        guard let last = try await self.number(Self.lastUser) else { return nil }
        let found: StoredPassword? = try await self.first(Self.passwordFrom, .integer(number.bucket(of: last) + 1))
        return found?.hash
    }

    /// Whether any user exists, including users whose rows cannot be read.
    package func hasUsers() async throws(StoreError) -> Bool { try await self.exists(Self.anyUser) }

    /// Users in a fixed order that is not alphabetical: at most `limit` users after `last`.
    package func users(after last: Username?, limit: Int) async throws(StoreError) -> [UserEntry] {
        try await self.all(Self.usersAfter, [.bytes(last.map(self.sealing.index.hash) ?? Data()), .count(limit)])
    }

    /// The user with this name, with the properties that lists of users show.
    package func userEntry(named name: Username) async throws(StoreError) -> UserEntry? {
        try await self.first(Self.entryNamed, .bytes(self.sealing.index.hash(name)))
    }

    /// Whether this enrolment code exists, has not expired, and belongs to a user who is not
    /// disabled.
    package func hasEnrolment(_ code: Fingerprint, now: Date) async throws(StoreError) -> Bool {
        try await self.exists(Self.codeInUse, [.bytes(code.bytes), .date(now)])
    }

    /// The valid tokens of one user or of all users, in the order of their prefixes: at most
    /// `limit` tokens after `last`.
    package func tokens(
        of user: Username?,
        after last: TokenPrefix?,
        limit: Int,
        now: Date
    ) async throws(StoreError) -> [TokenEntry] {
        let values: [StoredValue] = [.date(now), .text(last?.description ?? ""), .count(limit)]
        guard let user else { return try await self.all(Self.allTokens, values) }
        return try await self.all(Self.tokensOfOne, values + [.bytes(self.sealing.index.hash(user))])
    }

    // MARK: Devices

    /// The registered devices of a user, the oldest first.
    package func devices(ofUser user: Int64) async throws(StoreError) -> [RegisteredDevice] {
        try await self.all(Self.registeredDevices, [.integer(user)])
    }

    /// The registered device with this id, which may belong to any user, and its owner. `nil` if
    /// there is no such device.
    package func device(
        _ id: RegistrationID
    ) async throws(StoreError) -> (owner: DeviceOwner, device: RegisteredDevice)? {
        let found: OwnedDevice? = try await self.first(Self.registeredDevice, .text(id.description))
        return found.map { ($0.owner, $0.device) }
    }

    /// The user's registrations whose handles other accounts have registered after `since`, the
    /// newest first.
    package func movedDevices(ofUser user: Int64, since: Date) async throws(StoreError) -> [MovedDevice] {
        try await self.all(Self.moved, [.integer(user), .date(since)])
    }

    /// The registrations of one user or of all users, in any state and in a fixed order: at most
    /// `limit` registrations after `last`.
    package func deviceEntries(
        of user: Username?,
        after last: DevicePlace?,
        limit: Int
    ) async throws(StoreError) -> [DeviceEntry] {
        let values: [StoredValue] = [.integer(last?.number ?? 0), .count(limit)]
        guard let user else { return try await self.all(Self.allDevices, values) }
        let created = last?.createdAt.milliseconds ?? .min
        return try await self.all(
            Self.devicesOfOne,
            values + [.bytes(self.sealing.index.hash(user)), .integer(created)]
        )
    }

    /// The registration with this id in any state. If the id belongs to a device's unconfirmed
    /// claim to a handle, returns the device's registration. `nil` if the id was not issued, or
    /// was deleted.
    package func deviceEntry(_ id: RegistrationID) async throws(StoreError) -> DeviceEntry? {
        try await self.first(Self.deviceOfID, .text(id.description))
    }

    /// For each handle that the user's devices have claimed but not confirmed, the last push of a
    /// code.
    package func claims(ofUser user: Int64) async throws(StoreError) -> [ClaimEntry] {
        try await self.all(Self.claims, [.integer(user)])
    }

    // MARK: Notifications and their pushes

    package func apps(of ids: [NotificationID], now: Date) async throws(StoreError) -> [NotificationID: AppName] {
        let found: [NotificationApp] = try await self.all(Self.apps, [.integers(ids.map(\.rawValue)), .date(now)])
        return Dictionary(found.map { ($0.id, $0.app) }) { first, _ in first }
    }

    /// Whether the notification exists and is not recalled. If `sender` is not `nil`, this user
    /// must have sent it.
    package func isThere(_ id: NotificationID, from sender: Int64?, now: Date) async throws(StoreError) -> Bool {
        try await self.exists(Self.isThere, [.integer(id.rawValue), .date(now), .integer(sender)])
    }

    /// Whether the fan-out of a notification may still find devices; `false` if its audience
    /// cannot be read.
    package func isFanningOut(_ id: NotificationID) async throws(StoreError) -> Bool {
        try await self.exists(Self.isFanningOut, [.integer(id.rawValue)])
    }

    /// The pushes of a notification to devices with numbers above `device`, at most `limit`.
    package func deliveries(
        of id: NotificationID,
        after device: Int64,
        limit: Int
    ) async throws(StoreError) -> [DeliveryEntry] {
        try await self.all(Self.deliveries, [.integer(id.rawValue), .integer(device), .count(limit)])
    }

    /// The pushes of a notification to the devices of one user, at most `limit`.
    package func deliveries(
        of id: NotificationID,
        toUser user: Int64,
        limit: Int
    ) async throws(StoreError) -> [DeliveryEntry] {
        try await self.all(Self.deliveriesToUser, [.integer(id.rawValue), .integer(user), .count(limit)])
    }

    /// Counts the next `limit` pushes of a notification to devices with numbers above `device`.
    /// `last` is the last device number that was counted; `nil` if no further pushes follow.
    package func countDeliveries(
        of id: NotificationID,
        after device: Int64,
        limit: Int
    ) async throws(StoreError) -> (counts: [DeliveryStage: Int], last: Int64?) {
        let rows: [StageCount] = try await self.all(
            Self.counts,
            [.integer(id.rawValue), .integer(device), .count(limit)]
        )
        let counts = Dictionary(rows.map { ($0.stage, $0.count) }) { first, _ in first }
        return (counts, counts.values.reduce(0, +) < limit ? nil : rows.reduce(0) { max($0, $1.last) })
    }

    /// The failed pushes of all notifications, the newest first: at most `limit` that have failed
    /// since `since` and come after `last` in this list. A failed push is stored as long as its
    /// notification.
    package func failedPushes(
        since: Date,
        before last: FailurePlace?,
        limit: Int
    ) async throws(StoreError) -> [FailedPush] {
        let (at, id, device) = (last?.at.milliseconds ?? .max, last?.notification ?? .max, last?.device ?? .max)
        return try await self.all(
            Self.failedPushes,
            [.date(since), .integer(at), .integer(id), .integer(device), .count(limit)]
        )
    }

    /// A notification's recipients with user numbers above `user`, at most `limit`.
    package func recipients(
        of id: NotificationID,
        after user: Int64,
        limit: Int
    ) async throws(StoreError) -> [RecipientEntry] {
        try await self.all(Self.recipients, [.integer(id.rawValue), .integer(user), .count(limit)])
    }

    /// The summary of a notification, even if it has expired or was recalled; `nil` if it is not
    /// stored any more.
    package func summary(of id: NotificationID) async throws(StoreError) -> NotificationSummary? {
        try await self.first(Self.summary, .integer(id.rawValue))
    }

    /// A user's notifications that have changed last, the newest change first.
    package func latestNotifications(ofUser user: Int64, limit: Int) async throws(StoreError) -> [NotificationSummary] {
        try await self.all(Self.latestNotifications, [.integer(user), .count(limit)])
    }

    package func sendTime(of id: NotificationID) async throws(StoreError) -> Date? {
        try await self.number(Self.sendTime, [.integer(id.rawValue)]).map(Date.init(milliseconds:))
    }

    // MARK: Events and the audit

    package func lastDeliveredEvent() async throws(StoreError) -> Int64 { try await self.number(Self.delivered) ?? 0 }

    package func lastAuditNumber() async throws(StoreError) -> Int64 { try await self.number(Self.lastAudit) ?? 0 }
}

extension StoredValue {
    fileprivate static func count(_ number: Int) -> StoredValue { .integer(Int64(number)) }
    fileprivate static func date(_ date: Date) -> StoredValue { .integer(date.milliseconds) }
}

/// A row that is not decoded: the caller only needs to know that it exists.
private struct AnyRow: StoredEntity {
    init?<Row: StoredRow & ~Copyable>(_ row: borrowing Row, _ sealing: Sealing) {}
}

/// The only value of a row.
private enum OnlyColumn: Int32, SelectedColumn {
    case value
}

private struct Number: StoredEntity {
    let value: Int64?

    init<Row: StoredRow & ~Copyable>(_ row: borrowing Row, _ sealing: Sealing) throws {
        self.value = try row.optionalInteger(OnlyColumn.value)
    }
}

private struct StoredPassword: StoredEntity {
    let hash: PasswordHash

    init?<Row: StoredRow & ~Copyable>(_ row: borrowing Row, _ sealing: Sealing) throws {
        guard let text = try row.optionalText(OnlyColumn.value) else { return nil }
        self.hash = PasswordHash(phc: text)
    }
}

private struct AccountTags: StoredEntity {
    let tags: [Tag]

    init<Row: StoredRow & ~Copyable>(_ row: borrowing Row, _ sealing: Sealing) throws {
        self.tags = try StoredAccount(row).openTags(sealing)
    }
}

private struct NotificationApp: StoredEntity {
    let id: NotificationID
    let app: AppName

    private enum Column: Int32, SelectedColumn {
        case id, app
    }

    init?<Row: StoredRow & ~Copyable>(_ row: borrowing Row, _ sealing: Sealing) throws {
        guard let id = NotificationID(rawValue: try row.integer(Column.id)) else { return nil }
        (self.id, self.app) = (id, AppName(stored: try row.optionalText(Column.app)))
    }
}

private struct OwnedDevice: StoredEntity {
    let owner: DeviceOwner
    let device: RegisteredDevice

    init?<Row: StoredRow & ~Copyable>(_ row: borrowing Row, _ sealing: Sealing) throws {
        guard let device = try RegisteredDevice(row, sealing) else { return nil }
        (self.owner, self.device) = (try DeviceOwner(row, sealing), device)
    }
}

/// The number of pushes in one stage, and the highest device number among these pushes.
private struct StageCount: StoredEntity {
    let stage: DeliveryStage
    let count: Int
    let last: Int64

    private enum Column: Int32, SelectedColumn {
        case stage, count, last
    }

    init?<Row: StoredRow & ~Copyable>(_ row: borrowing Row, _ sealing: Sealing) throws {
        guard let stage = DeliveryStage(rawValue: try row.text(Column.stage)) else { return nil }
        (self.stage, self.last) = (stage, try row.integer(Column.last))
        self.count = Int(clamping: try row.integer(Column.count))
    }
}

package import Foundation
package import PushCore
package import PushStore
package import Testing

/// A reader that forwards each read to another reader. It answers asynchronously, as over a
/// network.
package struct WaitingReader: StoreReader {
    private let base: any StoreReader

    package init(_ base: any StoreReader) {
        self.base = base
    }

    package var immediate: (any ImmediateReader)? { nil }

    package func user(named name: Username) async throws(StoreError) -> User? {
        await Task.yield()
        return try await self.base.user(named: name)
    }

    package func password(of user: User) async throws(StoreError) -> PasswordHash? {
        await Task.yield()
        return try await self.base.password(of: user)
    }

    package func issuedAccount(of user: User) async throws(StoreError) -> IssuedAccount? {
        await Task.yield()
        return try await self.base.issuedAccount(of: user)
    }

    package func password(chosenBy number: UInt64) async throws(StoreError) -> PasswordHash? {
        await Task.yield()
        return try await self.base.password(chosenBy: number)
    }

    package func hasUsers() async throws(StoreError) -> Bool {
        await Task.yield()
        return try await self.base.hasUsers()
    }

    package func users(after last: Username?, limit: Int) async throws(StoreError) -> [UserEntry] {
        await Task.yield()
        return try await self.base.users(after: last, limit: limit)
    }

    package func userEntry(named name: Username) async throws(StoreError) -> UserEntry? {
        await Task.yield()
        return try await self.base.userEntry(named: name)
    }

    package func tags(ofUser name: Username) async throws(StoreError) -> [PushCore.Tag]? {
        await Task.yield()
        return try await self.base.tags(ofUser: name)
    }

    package func user(
        withToken fingerprint: Fingerprint,
        now: Date
    ) async throws(StoreError) -> (user: User, grant: TokenGrant)? {
        await Task.yield()
        return try await self.base.user(withToken: fingerprint, now: now)
    }

    package func hasEnrolment(_ code: Fingerprint, now: Date) async throws(StoreError) -> Bool {
        await Task.yield()
        return try await self.base.hasEnrolment(code, now: now)
    }

    package func tokens(
        of user: Username?,
        after last: TokenPrefix?,
        limit: Int,
        now: Date
    ) async throws(StoreError) -> [TokenEntry] {
        await Task.yield()
        return try await self.base.tokens(of: user, after: last, limit: limit, now: now)
    }

    package func devices(ofUser user: Int64) async throws(StoreError) -> [RegisteredDevice] {
        await Task.yield()
        return try await self.base.devices(ofUser: user)
    }

    package func device(
        _ id: RegistrationID
    ) async throws(StoreError) -> (owner: DeviceOwner, device: RegisteredDevice)? {
        await Task.yield()
        return try await self.base.device(id)
    }

    package func deviceEntries(
        of user: Username?,
        after last: DevicePlace?,
        limit: Int
    ) async throws(StoreError) -> [DeviceEntry] {
        await Task.yield()
        return try await self.base.deviceEntries(of: user, after: last, limit: limit)
    }

    package func deviceEntry(_ id: RegistrationID) async throws(StoreError) -> DeviceEntry? {
        await Task.yield()
        return try await self.base.deviceEntry(id)
    }

    package func claims(ofUser user: Int64) async throws(StoreError) -> [ClaimEntry] {
        await Task.yield()
        return try await self.base.claims(ofUser: user)
    }

    package func movedDevices(ofUser user: Int64, since: Date) async throws(StoreError) -> [MovedDevice] {
        await Task.yield()
        return try await self.base.movedDevices(ofUser: user, since: since)
    }

    package func isAnythingWaiting(for devices: [RegistrationID], now: Date) async throws(StoreError) -> Bool {
        await Task.yield()
        return try await self.base.isAnythingWaiting(for: devices, now: now)
    }

    package func notification(
        _ id: NotificationID,
        for user: Int64,
        alsoAsSender: Bool,
        now: Date
    ) async throws(StoreError) -> StoredNotification? {
        await Task.yield()
        return try await self.base.notification(id, for: user, alsoAsSender: alsoAsSender, now: now)
    }

    package func notifications(
        _ range: ChangeRange,
        for user: Int64,
        now: Date,
        within budget: PageBudget,
        needsPayloads: (NotificationPage) -> Bool
    ) async throws(StoreError) -> NotificationPage {
        await Task.yield()
        return try await self.base.notifications(
            range,
            for: user,
            now: now,
            within: budget,
            needsPayloads: needsPayloads
        )
    }

    package func notifications(
        _ ids: [NotificationID],
        of app: AppName,
        for user: Int64,
        now: Date,
        within budget: PageBudget,
        needsPayloads: (NotificationPage) -> Bool
    ) async throws(StoreError) -> NotificationPage {
        await Task.yield()
        return try await self.base.notifications(
            ids,
            of: app,
            for: user,
            now: now,
            within: budget,
            needsPayloads: needsPayloads
        )
    }

    package func apps(of ids: [NotificationID], now: Date) async throws(StoreError) -> [NotificationID: AppName] {
        await Task.yield()
        return try await self.base.apps(of: ids, now: now)
    }

    package func newestChange(ofUser user: Int64) async throws(StoreError) -> Int64 {
        await Task.yield()
        return try await self.base.newestChange(ofUser: user)
    }

    package func probe(in lane: Lane, _ choice: ProbeChoice, now: Date) async throws(StoreError) -> DuePush? {
        await Task.yield()
        return try await self.base.probe(in: lane, choice, now: now)
    }

    package func nextDue(in lane: Lane, _ queue: Queue) async throws(StoreError) -> Date? {
        await Task.yield()
        return try await self.base.nextDue(in: lane, queue)
    }

    package func oldestWaiting(in lane: Lane, _ queue: Queue) async throws(StoreError) -> Date? {
        await Task.yield()
        return try await self.base.oldestWaiting(in: lane, queue)
    }

    package func isThere(_ id: NotificationID, from sender: Int64?, now: Date) async throws(StoreError) -> Bool {
        await Task.yield()
        return try await self.base.isThere(id, from: sender, now: now)
    }

    package func deliveries(
        of id: NotificationID,
        after device: Int64,
        limit: Int
    ) async throws(StoreError) -> [DeliveryEntry] {
        await Task.yield()
        return try await self.base.deliveries(of: id, after: device, limit: limit)
    }

    package func deliveries(
        of id: NotificationID,
        toUser user: Int64,
        limit: Int
    ) async throws(StoreError) -> [DeliveryEntry] {
        await Task.yield()
        return try await self.base.deliveries(of: id, toUser: user, limit: limit)
    }

    package func failedPushes(
        since: Date,
        before last: FailurePlace?,
        limit: Int
    ) async throws(StoreError) -> [FailedPush] {
        await Task.yield()
        return try await self.base.failedPushes(since: since, before: last, limit: limit)
    }

    package func recipients(
        of id: NotificationID,
        after user: Int64,
        limit: Int
    ) async throws(StoreError) -> [RecipientEntry] {
        await Task.yield()
        return try await self.base.recipients(of: id, after: user, limit: limit)
    }

    package func summary(of id: NotificationID) async throws(StoreError) -> NotificationSummary? {
        await Task.yield()
        return try await self.base.summary(of: id)
    }

    package func latestNotifications(ofUser user: Int64, limit: Int) async throws(StoreError) -> [NotificationSummary] {
        await Task.yield()
        return try await self.base.latestNotifications(ofUser: user, limit: limit)
    }

    package func countDeliveries(
        of id: NotificationID,
        after device: Int64,
        limit: Int
    ) async throws(StoreError) -> (counts: [DeliveryStage: Int], last: Int64?) {
        await Task.yield()
        return try await self.base.countDeliveries(of: id, after: device, limit: limit)
    }

    package func isFanningOut(_ id: NotificationID) async throws(StoreError) -> Bool {
        await Task.yield()
        return try await self.base.isFanningOut(id)
    }

    package func sendTime(of id: NotificationID) async throws(StoreError) -> Date? {
        await Task.yield()
        return try await self.base.sendTime(of: id)
    }

    package func schedule(countingAtMost limit: Int) async throws(StoreError) -> Schedule {
        await Task.yield()
        return try await self.base.schedule(countingAtMost: limit)
    }

    package func tallies() async throws(StoreError) -> [String: Tally] {
        await Task.yield()
        return try await self.base.tallies()
    }

    package func events(
        after number: Int64?,
        ofSender sender: User?,
        limit: Int
    ) async throws(StoreError) -> EventPage {
        await Task.yield()
        return try await self.base.events(after: number, ofSender: sender, limit: limit)
    }

    package func lastDeliveredEvent() async throws(StoreError) -> Int64 {
        await Task.yield()
        return try await self.base.lastDeliveredEvent()
    }

    package func eventBacklog() async throws(StoreError) -> EventBacklog {
        await Task.yield()
        return try await self.base.eventBacklog()
    }

    package func auditName(of token: TokenPrefix) -> String {
        self.base.auditName(of: token)
    }

    package func auditEntries(before number: Int64?, limit: Int) async throws(StoreError) -> [AuditEntry] {
        await Task.yield()
        return try await self.base.auditEntries(before: number, limit: limit)
    }

    package func lastAuditNumber() async throws(StoreError) -> Int64 {
        await Task.yield()
        return try await self.base.lastAuditNumber()
    }

    package func auditFault() async throws(StoreError) -> AuditFault? {
        await Task.yield()
        return try await self.base.auditFault()
    }

    package func countSealed() async throws(StoreError) -> Int {
        await Task.yield()
        return try await self.base.countSealed()
    }

    /// Whether the servers that a test makes have readers of this type.
    @TaskLocal package static var isUsed = false
}

extension Trait where Self == Repetition {
    /// Runs each test of a suite twice: with readers that answer immediately, and with
    /// asynchronous readers.
    package static var eachReader: Repetition {
        Repetition { run in
            for isUsed in [false, true] { try await WaitingReader.$isUsed.withValue(isUsed) { try await run() } }
        }
    }
}

package import Foundation
package import PushCore
package import PushStore
package import Testing

/// A reader that forwards each read to another reader. It answers asynchronously, as over a
/// network.
package final class WaitingReader<Base: StoreReader>: StoreReader, GroupedReader {
    fileprivate let base: Base

    fileprivate init(base: Base) {
        self.base = base
    }

    package var fetchReader: FetchReader { .grouped(self) }

    package func pendingNotification(_ fetch: NotificationFetch) -> any PendingNotification {
        WaitingFetch(fetch, by: self)
    }

    package var sealing: Sealing { self.base.sealing }

    package func all<Entity: StoredEntity>(_ sql: String, _ values: [StoredValue]) async throws(StoreError) -> [Entity]
    {
        await Task.yield()
        return try await self.base.all(sql, values)
    }

    package static var accountWithID: String { Base.accountWithID }
    package static var accountNamed: String { Base.accountNamed }
    package static var passwordOf: String { Base.passwordOf }
    package static var lastUser: String { Base.lastUser }
    package static var passwordFrom: String { Base.passwordFrom }
    package static var anyUser: String { Base.anyUser }
    package static var usersAfter: String { Base.usersAfter }
    package static var entryNamed: String { Base.entryNamed }
    package static var codeInUse: String { Base.codeInUse }
    package static var allTokens: String { Base.allTokens }
    package static var tokensOfOne: String { Base.tokensOfOne }
    package static var registeredDevices: String { Base.registeredDevices }
    package static var registeredDevice: String { Base.registeredDevice }
    package static var moved: String { Base.moved }
    package static var allDevices: String { Base.allDevices }
    package static var devicesOfOne: String { Base.devicesOfOne }
    package static var deviceOfID: String { Base.deviceOfID }
    package static var claims: String { Base.claims }
    package static var apps: String { Base.apps }
    package static var isThere: String { Base.isThere }
    package static var isFanningOut: String { Base.isFanningOut }
    package static var deliveries: String { Base.deliveries }
    package static var deliveriesToUser: String { Base.deliveriesToUser }
    package static var counts: String { Base.counts }
    package static var failedPushes: String { Base.failedPushes }
    package static var recipients: String { Base.recipients }
    package static var summary: String { Base.summary }
    package static var latestNotifications: String { Base.latestNotifications }
    package static var sendTime: String { Base.sendTime }
    package static var delivered: String { Base.delivered }
    package static var lastAudit: String { Base.lastAudit }

    package func user(named name: Username) async throws(StoreError) -> User? {
        await Task.yield()
        return try await self.base.user(named: name)
    }

    package func user(
        withToken fingerprint: Fingerprint,
        now: Date
    ) async throws(StoreError) -> (user: User, grant: TokenGrant)? {
        await Task.yield()
        return try await self.base.user(withToken: fingerprint, now: now)
    }

    package func isAnythingWaiting(for devices: [RegistrationID], now: Date) async throws(StoreError) -> Bool {
        await Task.yield()
        return try await self.base.isAnythingWaiting(for: devices, now: now)
    }

    package func notification(_ fetch: NotificationFetch) async throws(StoreError) -> StoredNotification? {
        await Task.yield()
        return try await self.base.notification(fetch)
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

    package func eventBacklog() async throws(StoreError) -> (count: Int, oldest: Date?) {
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

    package func auditFault() async throws(StoreError) -> Int64? {
        await Task.yield()
        return try await self.base.auditFault()
    }

    package func countSealed() async throws(StoreError) -> Int {
        await Task.yield()
        return try await self.base.countSealed()
    }
}

/// A read of `WaitingReader`, whose caller itself must finish it.
private final class WaitingFetch<Base: StoreReader>: PendingNotification {
    private let fetch: NotificationFetch
    private let reader: WaitingReader<Base>
    private var end: Result<StoredNotification?, StoreError>?

    init(_ fetch: NotificationFetch, by reader: WaitingReader<Base>) {
        self.fetch = fetch
        self.reader = reader
    }

    var isFinished: Bool { self.end != nil }

    func begin(resume caller: UnsafeContinuation<Void, Never>) { caller.resume() }

    func finish() async {
        do throws(StoreError) {
            self.end = .success(try await self.reader.notification(self.fetch))
        } catch {
            self.end = .failure(error)
        }
    }

    func result() throws(StoreError) -> StoredNotification? { try self.end?.get() ?? nil }
}

/// The choice whether the readers of a test's servers answer asynchronously.
package enum WaitingReads {
    @TaskLocal package static var isUsed = false

    /// The reader, or a reader that forwards each read to it and answers asynchronously.
    package static func reader(_ base: some StoreReader) -> any StoreReader {
        Self.isUsed ? WaitingReader(base: base) : base
    }
}

extension Trait where Self == Repetition {
    /// Runs each test of a suite twice: with readers that answer immediately, and with
    /// asynchronous readers.
    package static var eachReader: Repetition {
        Repetition { run in
            for isUsed in [false, true] { try await WaitingReads.$isUsed.withValue(isUsed) { try await run() } }
        }
    }
}

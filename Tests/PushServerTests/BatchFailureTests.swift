import Foundation
import HTTPTypes
import Logging
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Synchronization
import Testing

@testable import PushServer

/// Batches on a server whose store fails for some elements, or for all elements after a certain
/// one.
@Suite(.timeLimit(.minutes(5))) struct BatchFailureTests {
    private static let body = Array(
        #"{"Notifications":[\#((0..<300).map { #"{"Payload":\#($0),"ExpiresIn":\#($0 + 1)}"# }.joined(separator: ","))]}"#
            .utf8
    )

    /// Posts a batch of 300 notifications. Returns the status of each element, and the number of
    /// notifications that are stored afterwards.
    private func post(_ failure: @escaping @Sendable ([NewNotification]) -> StoreError?) async throws -> ([Int], Int) {
        let storage = try StoreFixture()
        let paul = try await storage.addUser("paul", role: .publisher)
        let settings = ServerSettings.forTests
        let key = storage.store.indexSecret.derive("test")
        let log = LogRecorder()
        let poster = BatchPoster(
            poster: NotificationPoster(
                store: FailingStore(base: storage.store, failure: failure),
                collapseIDs: CollapseIDs(key: key),
                ids: NotificationIDs(bits: 53),
                bounds: [:],
                links: ProcessLinks(),
                history: StatusHistory()
            ),
            idempotency: IdempotencyGuard(keys: key, requests: key),
            settings: settings,
            failures: FailureReport(logger: Logger(label: "test") { _ in log }),
            reports: ReportReader(storage.reader)
        )
        let origin = BatchPoster.Origin(
            user: paul,
            quota: nil,
            changes: nil,
            actor: AuditRecord.Actor(name: paul.name, token: nil, client: "unknown", request: "r"),
            request: RequestID(),
            key: nil,
            isStrict: false,
            now: storage.now
        )
        let answer = try JSONValue(reading: try await poster.post(Self.body, of: origin))
        guard case .array(let outcomes)? = answer["Outcomes"] else { return ([], 0) }
        let stored = try await storage.reader.notifications(
            ChangeRange(after: nil, limit: 500, isUnreadOnly: false),
            for: paul.id,
            now: storage.now
        ) { _ in false }
        return (outcomes.compactMap { $0["Status"]?.integer }, stored.entries.count)
    }

    private static func number(_ post: NewNotification) -> Int {
        // Each notification has a different lifetime, which identifies its place in the batch.
        Int(post.expiresAt.timeIntervalSince(post.createdAt)) - 1
    }

    @Test(arguments: [
        (StoreError.damaged(row: "a row"), 500), (.damagedFile(reason: "x"), 503),
        (.unusable(place: "x", reason: "y"), 503),
    ])
    func aDamagedElementFailsAlone(error: StoreError, status: Int) async throws {
        let (statuses, count) = try await self.post { posts in
            posts.contains { Self.number($0) % 150 == 7 } ? error : nil
        }
        #expect(statuses == (0..<300).map { $0 % 150 == 7 ? status : 201 })
        #expect(count == 298)
    }

    @Test(arguments: [
        (StoreError.busy, ProblemCode.busy, "1"), (.unavailable(reason: "x"), .busy, "1"), (.full, .storageFull, "30"),
        // The server ends: its disk has failed, or a file of the database was removed.
        (.broken(reason: "x"), .busy, "1"),
        (.damagedFile(reason: "x"), .databaseUnusable, "30"), (.unusable(reason: "x"), .databaseUnusable, "30"),
    ])
    func aFailureHasItsCodeAndTellsWhenToRetry(error: StoreError, code: ProblemCode, seconds: String) {
        let log = LogRecorder()
        let problem = FailureReport(logger: Logger(label: "test") { _ in log }).problem(of: error, in: RequestID())
        #expect(problem.code == code)
        #expect(Response(problem, request: RequestID()).fields[.retryAfter] == seconds)
    }

    @Test(arguments: [(StoreError.busy, 503), (.full, 507), (.broken(reason: "x"), 503)])
    func aFailureOfTheWholeStoreEndsTheBatch(error: StoreError, status: Int) async throws {
        let calls = Counter()
        let (statuses, count) = try await self.post { posts in
            calls.increment()
            return posts.contains { Self.number($0) >= 150 } ? error : nil
        }
        #expect(statuses == (0..<300).map { $0 < 150 ? 201 : status })
        #expect(count == 150)
        #expect(calls.count == 2, "no other is tried")
    }
}

/// Forwards calls to `base`, except for the posts for which `failure` returns an error.
private struct FailingStore: PostStore, KeyStore {
    let base: any Store
    let failure: @Sendable ([NewNotification]) -> StoreError?

    var sealing: Sealing { self.base.sealing }

    func hashed(_ audience: Audience) -> HashedAudience { self.base.hashed(audience) }

    func post(_ request: PostRequest) async throws -> [PostOutcome] {
        if let failure = self.failure(request.posts) { throw failure }
        return try await self.base.post(request)
    }

    func replaceKeyring(_ keyring: Keyring, by actor: AuditRecord.Actor, now: Date) async throws -> Bool {
        try await self.base.replaceKeyring(keyring, by: actor, now: now)
    }

    func addSeals(_ seals: [UInt32: Int]) async throws { try await self.base.addSeals(seals) }

    func rewrap(page: Int?, passed: @Sendable (Int) async throws -> Void) async throws -> RewrapResult? {
        try await self.base.rewrap(page: page, passed: passed)
    }
}

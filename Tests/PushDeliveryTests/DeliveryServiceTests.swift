import Foundation
import Logging
import PushCore
import PushDelivery
import PushSenders
import PushSimulators
import PushStore
import PushTesting
import Reactor
import ServiceLifecycle
import Testing

/// The service between the real outbox and a simulated provider, by a clock that stands.
@Suite struct DeliveryServiceTests {
    private let fixture: StoreFixture
    private let apns: APNsSimulator

    init() throws {
        self.fixture = try StoreFixture()
        let clock = self.fixture.clock
        var options = SimulatorOptions()
        options.now = { clock.now }
        let authority = try TestAuthority()
        self.apns = try APNsSimulator(authority: authority, options: options)
        try authority.write(to: self.fixture.folder.file("ca.pem"))
    }

    /// Runs the service as long as `body` does, by the standing clock unless told otherwise.
    private func run(
        settings: DeliverySettings = DeliverySettings(),
        now: (@Sendable () -> Date)? = nil,
        _ body: @escaping @Sendable (WakeUp, SenderStatus) async throws -> Void
    ) async throws {
        let loop = try EventLoop(index: 0)
        defer { loop.stop() }
        let credentials = self.apns.credentials
        let clock = self.fixture.clock
        let sender = try APNsSender(
            APNsSettings(
                key: Secret(credentials.privateKey),
                keyID: credentials.keyID,
                teamID: credentials.teamID,
                topic: credentials.topic,
                endpoint: self.apns.endpoint,
                connection: ConnectionSettings(caFile: self.fixture.folder.file("ca.pem"))
            ),
            on: loop,
            now: { clock.now }
        )
        let (wakeUp, status) = (WakeUp(), SenderStatus())
        let service = DeliveryService(
            store: self.fixture.store,
            lanes: [LaneSettings(Lane(Platform("apns")), sender: sender, concurrency: 3)],
            settings: settings,
            wakeUp: wakeUp,
            status: status,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            now: now ?? { clock.now }
        )
        try await self.apns.whileRunning { _ in
            try await withThrowingTaskGroup(of: Void.self) { group in
                let services = ServiceGroup(
                    configuration: .init(
                        services: [.init(service: Runner(service: service))],
                        logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
                    )
                )
                group.addTask { try await services.run() }
                try await body(wakeUp, status)
                await services.triggerGracefulShutdown()
                try await group.waitForAll()
            }
        }
        await sender.close()
    }

    private struct Runner: Service {
        let service: DeliveryService

        func run() async throws {
            try await self.service.run()
        }
    }

    @Test func whatIsInTheOutboxAtTheStartIsSent() async throws {
        // The present, and time goes on: until it has seen a good token, APNs may refuse a second stream, and what was
        // refused comes again after a wait.
        self.fixture.clock.advance(by: Date().timeIntervalSince(self.fixture.now))
        let alice = try await fixture.addUser("alice")
        try await fixture.addDevice(of: alice, handle: "abcd")
        for number in Int64(1)...20 { try await fixture.post(number, from: alice, to: "username:alice") }
        try await self.run(settings: DeliverySettings(), now: { Date() }) { _, _ in
            _ = try await self.apns.pushes.acceptedPush(20)
        }
        #expect(try self.fixture.nextDue() == nil)
        let ids = Set(self.apns.pushes.received.map { $0.request.header("apns-id") })
        #expect(ids.count == 20)
    }

    @Test func aNewNotificationIsSentAtTheBell() async throws {
        let alice = try await fixture.addUser("alice")
        try await fixture.addDevice(of: alice, handle: "abcd")
        try await self.run(settings: DeliverySettings(rest: .seconds(3600))) { wakeUp, _ in
            try await self.fixture.post(1, from: alice, to: "username:alice")
            wakeUp()
            _ = try await self.apns.pushes.acceptedPush(1)
        }
    }

    @Test func whatHasExpiredIsNotSent() async throws {
        let alice = try await fixture.addUser("alice")
        try await fixture.addDevice(of: alice, handle: "abcd")
        try await fixture.post(1, from: alice, to: "username:alice", expiresIn: 10)
        try await fixture.post(2, from: alice, to: "username:alice", expiresIn: 20)
        self.fixture.clock.advance(by: 10)
        try await self.run { _, _ in _ = try await self.apns.pushes.acceptedPush(1) }
        #expect(self.apns.pushes.received.count == 1)
        #expect(
            self.apns.pushes.received.first.map { String(decoding: $0.request.body, as: UTF8.self) }?
                .contains("\"2\"") == true
        )
    }

    @Test func aPausedSenderKeepsItsQueueAndIsReported() async throws {
        let alice = try await fixture.addUser("alice")
        try await fixture.addDevice(of: alice, handle: "abcd")
        try await fixture.post(1, from: alice, to: "username:alice")
        self.apns.pushes.answerNext(status: 403, body: #"{"reason":"InvalidProviderToken"}"#)
        try await self.run { _, status in
            while status.troubles.isEmpty { await Task.yield() }
            #expect(status.troubles == ["the sender apns rests: InvalidProviderToken"])
        }
        #expect(self.apns.pushes.received.count == 1)
        let due = try #require(try self.fixture.nextDue())
        #expect(due == self.fixture.now + SenderHealth.pause)
    }
}

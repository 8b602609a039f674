import Foundation
import Logging
import PushCore
import PushSenders
import PushSimulators
import PushStore
import PushTesting
import Reactor
import ServiceLifecycle
import Synchronization
import Testing

@testable import PushDelivery

/// The delivery of events from a real store, over a real connection, to a simulated receiver that
/// verifies signatures.
@Suite(.timeLimit(.minutes(5))) struct EventDeliveryTests {
    private let fixture: StoreFixture
    private let alice: User
    private let hook: WebhookSimulator
    private let status = EventStatus()
    private let log = LogRecorder(logLevel: .info)

    init() async throws {
        self.fixture = try StoreFixture(options: .withEvents)
        self.alice = try await self.fixture.addUser("alice")
        try await self.fixture.addDevice(of: self.alice, handle: "one")
        let authority = try TestAuthority()
        try authority.write(to: self.fixture.folder.file("ca.pem"))
        self.hook = try WebhookSimulator(authority: authority)
    }

    private var logger: Logger { Logger(label: "test") { [log] _ in log } }

    /// Makes an event for each number, by cancelling a push.
    private func makeEvents(_ numbers: ClosedRange<Int64>) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in numbers {
                group.addTask {
                    let id = try #require(NotificationID(rawValue: number))
                    try await self.fixture.post(number, from: self.alice, to: "username:alice")
                    #expect(
                        try await self.fixture.store.dismiss(id, by: self.alice.id, now: self.fixture.now)
                    )
                }
            }
            try await group.waitForAll()
        }
    }

    private func events() async throws -> [PushEvent] {
        try await self.fixture.reader.events(after: nil, ofSender: nil, limit: 10_000).events
    }

    /// Delivers events while `body` runs. `store` may replace the fixture's store.
    private func deliver(
        secret: String? = nil,
        storing store: (any EventStore)? = nil,
        _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        let loop = try EventLoop(index: 0)
        defer { loop.stop() }
        let webhook = try EventWebhook(
            WebhookSettings(
                url: self.hook.url,
                secret: Secret(secret ?? self.hook.secret),
                connection: ConnectionSettings(caFile: self.fixture.folder.file("ca.pem"), timeout: .seconds(60))
            ),
            on: loop
        )
        let delivery = EventDelivery(
            store: store ?? self.fixture.store,
            reader: try self.fixture.store.makeReader(),
            sender: webhook,
            encode: { events, _ in Self.encode(events) },
            status: self.status,
            logger: self.logger,
            now: { Date() }
        )
        let services = ServiceGroup(
            configuration: .init(services: [.init(service: Runner(delivery: delivery))], logger: self.logger)
        )
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await services.run() }
            let result: Result<Void, any Error>
            do {
                result = .success(try await body())
            } catch {
                result = .failure(error)
            }
            await services.triggerGracefulShutdown()
            try await group.waitForAll()
            try result.get()
        }
        await webhook.close()
    }

    private struct Runner: Service {
        let delivery: EventDelivery

        func run() async throws {
            try await self.delivery.run()
        }
    }

    /// Encodes only the numbers, because the simulator needs nothing else. Another test covers the
    /// format.
    private static func encode(_ events: [PushEvent]) -> [UInt8] {
        let list = events.map { #"{"Number":\#($0.number)}"# }.joined(separator: ",")
        return Array(#"{"type":"sealpost.events","data":{"Events":[\#(list)]}}"#.utf8)
    }

    /// The numbers of the events in each accepted message, in the order of their arrival.
    private var received: [[Int64]] {
        self.hook.pushes.received.filter(\.verdict.isDelivered).map { push in
            String(decoding: push.request.body, as: UTF8.self).matches(of: #/"Number":(\d+)/#)
                .compactMap { Int64($0.output.1) }
        }
    }

    private func isAllDelivered() async throws -> Bool {
        try await self.fixture.reader.eventBacklog().count == 0
    }

    // MARK: -

    @Test func allEventsArriveInTheirOrderAndEachOnce() async throws {
        try await self.makeEvents(1...1200)
        try await self.hook.whileRunning { hook in
            try await self.deliver {
                try await eventually { try await self.isAllDelivered() }
                try await self.makeEvents(1201...1210)
                try await eventually { try await self.isAllDelivered() }
            }
        }
        let numbers = try await self.events().map(\.number)
        #expect(numbers.count == 1210)
        #expect(self.received.flatMap(\.self) == numbers)
        #expect(self.received.prefix(3).map(\.count) == [500, 500, 200])
        #expect(self.hook.pushes.received.allSatisfy { $0.verdict == .accepted })
        let ids = self.hook.pushes.received.map { $0.request.header("webhook-id") }
        #expect(ids.first == "events-\(numbers[0])-\(numbers[499])")
        #expect(self.status.counts == EventStatus.Counts(delivered: 1210))
        #expect(!self.status.isPaused)
        #expect(self.log.lines == [])
    }

    @Test func aFailedMessageIsRetriedUnchangedUntilItIsAccepted() async throws {
        try await self.makeEvents(1...3)
        for _ in 0..<2 { self.hook.pushes.answerNext(status: 500) }
        try await self.hook.whileRunning { _ in
            try await self.deliver { try await eventually { try await self.isAllDelivered() } }
        }
        let pushes = self.hook.pushes.received
        #expect(pushes.map(\.verdict.status) == [500, 500, 200])
        #expect(Set(pushes.map { $0.request.header("webhook-id") }).count == 1)
        #expect(Set(pushes.map(\.request.body)).count == 1)
        #expect(self.status.counts == EventStatus.Counts(delivered: 3, failures: 2))
        #expect(self.log.lines.count == 2)
        let paused = "warning event delivery paused; events wait and are retried cause=outage reason=HTTP 500 until="
        #expect(self.log.lines.first?.hasPrefix(paused) == true, "\(self.log.lines)")
        #expect(self.log.lines.last == "notice event delivery resumed cause=outage")
    }

    @Test(arguments: [400, 401, 403, 404, 410, 413, 422, 302])
    func aRefusalPausesTheDeliveryUntilAnOperatorActs(refusal: Int) async throws {
        try await self.makeEvents(1...3)
        self.hook.pushes.answerNext(status: refusal)
        try await self.hook.whileRunning { _ in
            try await self.deliver {
                try await eventually { self.status.isPaused }
                #expect(try await self.fixture.reader.eventBacklog().count == 3)
                #expect(self.hook.pushes.received.count == 1)
                // A reload of the configuration resets the status in this way.
                self.status.reset()
                try await eventually { try await self.isAllDelivered() }
            }
        }
        #expect(try await self.received.flatMap(\.self) == self.events().map(\.number))
        #expect(self.log.lines.first?.contains("cause=misconfigured reason=HTTP \(refusal)") == true)
    }

    @Test func theReceiversRetryAfterIsObserved() async throws {
        try await self.makeEvents(1...1)
        let start = ContinuousClock.now
        self.hook.pushes.answerNext(status: 429, headers: [HeaderField("retry-after", "2")])
        try await self.hook.whileRunning { _ in
            try await self.deliver { try await eventually { try await self.isAllDelivered() } }
        }
        #expect(ContinuousClock.now - start >= .seconds(2))
        #expect(self.log.lines.first?.contains("cause=overloaded") == true)
    }

    @Test func aReceiverGetsAllEventsAfterAnOutage() async throws {
        try await self.makeEvents(1...3)
        // The receiver's port is open, but nobody answers the TLS handshake.
        try await self.deliver {
            try await eventually { self.status.isPaused }
            try await self.hook.whileRunning { _ in
                self.status.reset()
                try await eventually { try await self.isAllDelivered() }
            }
        }
        #expect(try await Set(self.received.flatMap(\.self)) == Set(self.events().map(\.number)))
    }

    @Test func eventsThatAnotherServerHasDeliveredAreNotSent() async throws {
        try await self.makeEvents(1...3)
        try await self.hook.whileRunning { _ in
            try await self.deliver {
                try await eventually { try await self.isAllDelivered() }
                let last = try #require(try await self.events().last).number
                // The numbers of the next two events.
                try await self.fixture.store.recordDelivered(eventsUpTo: last + 2)
                try await self.makeEvents(4...7)
                try await eventually { try await self.isAllDelivered() }
            }
        }
        let numbers = try await self.events().map(\.number)
        #expect(self.received.flatMap(\.self) == Array(numbers[..<3] + numbers[5...]))
    }

    /// The store forgets what was delivered, as if the process were killed between the receiver's
    /// answer and the next commit.
    @Test func acknowledgedEventsThatWereNotSettledAreSentAgain() async throws {
        try await self.makeEvents(1...600)
        try await self.hook.whileRunning { _ in
            for _ in 0..<2 {
                try await self.deliver(storing: Forgetful()) {
                    let before = self.status.counts.delivered
                    try await eventually { self.status.counts.delivered >= before + 600 }
                }
            }
            #expect(try await self.fixture.reader.eventBacklog().count == 600)
            try await self.deliver { try await eventually { try await self.isAllDelivered() } }
        }
        let numbers = try await self.events().map(\.number)
        #expect(self.received.flatMap(\.self) == numbers + numbers + numbers)
    }

    /// A store that does not record which events were delivered.
    private struct Forgetful: EventStore {
        func recordDelivered(eventsUpTo number: Int64) async throws {}
        func trimEvents(before date: Date, limit: Int) async throws -> (count: Int, undelivered: Int) {
            (0, 0)
        }
    }

    @Test func aLostAnswerRepeatsTheMessageUnderTheSameID() async throws {
        try await self.makeEvents(1...3)
        self.hook.pushes.setFaults([FaultRule(.loseAnswer, when: [.next(1)])])
        try await self.hook.whileRunning { _ in
            try await self.deliver { try await eventually { try await self.isAllDelivered() } }
        }
        let numbers = try await self.events().map(\.number)
        #expect(self.received.allSatisfy { $0 == numbers })
        #expect(self.received.count >= 2)
        #expect(Set(self.hook.pushes.received.map { $0.request.header("webhook-id") }).count == 1)
    }

    @Test func aWrongSecretIsRefusedAndLosesNothing() async throws {
        try await self.makeEvents(1...3)
        try await self.hook.whileRunning { _ in
            try await self.deliver(secret: String(repeating: "x", count: 24)) {
                try await eventually { self.status.isPaused }
            }
            #expect(try await self.fixture.reader.eventBacklog().count == 3)
            self.status.reset()
            try await self.deliver { try await eventually { try await self.isAllDelivered() } }
        }
        #expect(self.hook.pushes.received.map(\.verdict.status) == [401, 200])
    }

    @Test func eventsDeletedBeforeTheirDeliveryAreCountedAndLogged() async throws {
        try await self.makeEvents(1...3)
        let retention = RetentionService(
            store: self.fixture.store,
            auditKept: .seconds(3600),
            eventsKept: .seconds(3600),
            receiver: self.status,
            logger: self.logger,
            now: { .distantFuture }
        )
        let services = ServiceGroup(
            configuration: .init(services: [.init(service: Retention(service: retention))], logger: self.logger)
        )
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await services.run() }
            try await eventually { self.status.counts.dropped > 0 }
            await services.triggerGracefulShutdown()
            try await group.waitForAll()
        }
        // All events but the newest are dropped. The newest event stays, so that its number is not
        // used again.
        #expect(self.status.counts.dropped == 2)
        #expect(
            self.log.lines == ["error events expired before the receiver acknowledged them, and were deleted count=2"]
        )
    }

    private struct Retention: Service {
        let service: RetentionService

        func run() async throws {
            try await self.service.run()
        }
    }
}

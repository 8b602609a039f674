import Foundation
import Logging
import PushCore
import PushDelivery
import PushSenders
import PushSimulators
import PushTesting
import Reactor
import ServiceLifecycle

/// The delivery service with a real store and simulated providers, with a clock that only tests
/// advance.
struct Rig: Sendable {
    let fixture: StoreFixture
    let apns: APNsSimulator
    /// A simulator of the sandbox, the other environment of `apns`.
    let sandbox: APNsSimulator
    /// A second provider, to test that the failures of one provider do not affect the other.
    let other: APNsSimulator
    let log = LogRecorder(logLevel: .info)
    let traces = RequestTraces(spans: SpanRecorder(sampling: 0))

    init() throws {
        let fixture = try StoreFixture()
        self.fixture = fixture
        var options = SimulatorOptions()
        options.now = { fixture.clock.now }
        let authority = try TestAuthority()
        self.apns = try APNsSimulator(authority: authority, options: options)
        self.sandbox = try APNsSimulator(sandboxOf: self.apns, authority: authority, options: options)
        self.other = try APNsSimulator(authority: authority, options: options)
        try authority.write(to: fixture.folder.file("ca.pem"))
    }

    /// Runs the service while `body` runs, with the lanes `apns` and `other`, and `apns/sandbox`
    /// if `hasSandbox`. It uses the fixture's clock unless `now` replaces it.
    ///
    /// A call to `apns` ends after `timeout`, which no busy machine reaches: such a call would be
    /// repeated and counted twice. `ending` may end calls that still run when `body`
    /// has returned.
    func run(
        concurrency: Int = 3,
        hasSandbox: Bool = false,
        timeout: Duration = .seconds(60),
        settings: DeliverySettings = DeliverySettings(),
        settlements: SettlementWatch = SettlementWatch(),
        schedule: ReleaseSchedule = ReleaseSchedule(),
        now: (@Sendable () -> Date)? = nil,
        ending: @escaping @Sendable (APNsSender) async -> Void = { _ in },
        _ body: @escaping @Sendable (WakeUp, SenderStatus) async throws -> Void
    ) async throws {
        let loop = try EventLoop(index: 0)
        defer { loop.stop() }
        let first = try self.sender(to: self.apns, on: loop, timeout: timeout)
        let second = try self.sender(to: self.other, on: loop, timeout: .seconds(60))
        let third = try self.sender(to: self.sandbox, on: loop, timeout: timeout)
        let platform = Platform("apns")
        var lanes = [
            LaneSettings(Lane(platform), sender: first, concurrency: concurrency),
            LaneSettings(Lane(Platform("other")), sender: second, concurrency: concurrency),
        ]
        if hasSandbox {
            lanes[0].otherEnvironment = Lane(platform, in: .sandbox)
            lanes.append(
                LaneSettings(
                    Lane(platform, in: .sandbox),
                    sender: third,
                    concurrency: concurrency,
                    otherEnvironment: Lane(platform)
                )
            )
        }
        let links = ProcessLinks(settlements: settlements, schedule: schedule, traces: self.traces)
        let status = SenderStatus()
        let log = self.log
        let logger = Logger(label: "test") { _ in log }
        let service = try DeliveryService(
            store: self.fixture.store,
            lanes: lanes,
            settings: settings,
            status: status,
            links: links,
            logger: logger,
            executor: loop,
            now: now ?? { self.fixture.clock.now }
        )
        try await self.whileProvidersRun {
            try await withThrowingTaskGroup(of: Void.self) { group in
                let services = ServiceGroup(
                    configuration: .init(services: [.init(service: Runner(service: service))], logger: logger)
                )
                group.addTask { try await services.run() }
                let result: Result<Void, any Error>
                do {
                    result = .success(try await body(links.workIsWaiting, status))
                } catch {
                    result = .failure(error)
                }
                await ending(first)
                await services.triggerGracefulShutdown()
                try await group.waitForAll()
                try result.get()
            }
        }
        await first.close()
        await second.close()
        await third.close()
    }

    private func whileProvidersRun(_ body: @escaping @Sendable () async throws -> Void) async throws {
        try await self.apns.whileRunning { _ in
            try await self.sandbox.whileRunning { _ in
                try await self.other.whileRunning { _ in try await body() }
            }
        }
    }

    private func sender(to apns: APNsSimulator, on loop: EventLoop, timeout: Duration) throws -> APNsSender {
        try APNsSender(
            APNsSettings(
                key: Secret(apns.credentials.privateKey),
                keyID: apns.credentials.keyID,
                teamID: apns.credentials.teamID,
                topic: apns.credentials.topic,
                envelope: .background,
                endpoint: apns.endpoint,
                connection: ConnectionSettings(caFile: self.fixture.folder.file("ca.pem"), timeout: timeout)
            ),
            on: loop,
            now: { self.fixture.clock.now }
        )
    }

    private struct Runner: Service {
        let service: DeliveryService

        func run() async throws {
            try await self.service.run()
        }
    }
}

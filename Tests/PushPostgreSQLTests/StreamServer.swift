import Foundation
import Logging
import PostgreSQL
import PushCore
import PushDelivery
import PushSenders
import PushStore
import PushTesting
import Synchronization
import Testing

@testable import PushPostgreSQL

/// Two servers, and a device of a user. `inbox` records the events that arrive over the device's
/// streams.
struct StreamPair: Sendable {
    let a: StreamServer
    let b: StreamServer
    let alice: User
    let device: RegistrationID
    let inbox = Inbox()

    init() async throws {
        self.a = try StreamServer()
        self.b = try StreamServer(beside: self.a)
        self.alice = try await self.a.fixture.addUser("alice", role: .publisher)
        self.device = try await self.a.addDevice(of: self.alice)
    }

    func post(_ numbers: Int64..., at server: StreamServer) async throws {
        for number in numbers { try await server.fixture.post(number, from: self.alice, to: "username:alice") }
    }

    func open(at server: StreamServer) async throws -> StreamSubscription {
        try await server.open(self.device, of: self.alice, into: self.inbox)
    }
}

/// A server with its open event streams. It may share its database with other servers.
struct StreamServer: Sendable {
    let fixture: StoreFixture
    let hub: StreamHub
    private let links = ProcessLinks()

    /// Makes a server with its own database, or one that shares the database of `other`.
    init(beside other: StreamServer? = nil, fencesServers: Bool = false) throws {
        var options = StoreOptions.patient
        options.cluster.fencesServers = fencesServers
        options.streamLanes = ["stream"]
        self.hub = options.streams
        self.fixture = try other?.fixture.reopened(options: options) ?? StoreFixture(.postgreSQL, options: options)
    }

    var wakeUp: WakeUp { self.links.workIsWaiting }

    var store: PostgreSQLStore {
        get throws { try #require(self.fixture.store as? PostgreSQLStore) }
    }

    func addDevice(of user: User) async throws -> RegistrationID {
        let (store, now) = (self.fixture.store, self.fixture.now)
        let id = try await store.requestRegistration(ofUser: user.id, handle: nil, now: now)
        let registration = DeviceRegistration(
            platform: Platform("stream"),
            lane: Lane(Platform("stream")),
            handle: try #require(DeviceHandle(id.description)),
            tags: []
        )
        _ = try await store.register(registration, as: id, for: user, now: now)
        return id
    }

    /// Opens a stream whose client reads each event at once.
    func open(_ device: RegistrationID, of user: User, into inbox: Inbox) async throws -> StreamSubscription {
        let handle = try #require(DeviceHandle(device.description))
        let subscription = try #require(self.hub.open([handle], ofUser: user.id))
        let mailbox = subscription.mailbox
        mailbox.attach { [weak mailbox] in
            for event in mailbox?.take().events ?? [] {
                inbox.record(event.id.rawValue, at: device)
                event.succeed()
            }
        }
        _ = try await self.store.streamOpened(for: [device], ofUser: user.id, after: nil, now: self.fixture.now)
        self.wakeUp()
        return subscription
    }

    /// Sends, in one pass, the pushes that this server may send now. Returns the notifications
    /// that it has leased.
    @discardableResult
    func deliver() async throws -> [Int64] {
        let leased = try await self.fixture.lease("stream")
        for delivery in leased { try await self.send(delivery) }
        return leased.map(\.push.notification.rawValue).sorted()
    }

    func send(_ delivery: LeasedDelivery) async throws {
        let outcome = await StreamSender(self.hub).outcome(of: delivery.push)
        let now = self.fixture.now
        let settlement = delivery.state.settlement(of: outcome, blame: .device, now: now, jitter: 0)
        try await self.fixture.settle(delivery, as: settlement)
    }

    /// While `body` runs, delivers pushes and updates the rows of streams, as a running server
    /// does.
    func whileRunning(_ lane: LaneSettings? = nil, _ body: @escaping @Sendable () async throws -> Void) async throws {
        var lane = lane ?? LaneSettings(Lane(Platform("stream")), sender: StreamSender(self.hub))
        lane.pollInterval = .milliseconds(20)
        let service = try DeliveryService(
            store: self.fixture.store,
            lanes: [lane],
            status: SenderStatus(),
            links: self.links,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            now: { self.fixture.now }
        )
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                // The test ends the service by cancellation, which makes it throw.
                try? await service.run()
            }
            group.addTask { await self.fixture.store.run() }
            let result: Result<Void, any Error>
            do {
                result = .success(try await body())
            } catch {
                result = .failure(error)
            }
            group.cancelAll()
            try await group.waitForAll()
            try result.get()
        }
    }

    // MARK: - Failures

    func run(_ sql: String) async throws {
        _ = try await self.store.database.query(sql, values: [])
    }

    /// Marks another server's number as fenced, as servers do some seconds after the other server
    /// has ended.
    func fence(_ other: StreamServer) async throws {
        try await self.run("update node set is_fenced = true where number = \(other.store.membership.number)")
    }

    /// Blocks the renewals of another server's lease, and every new server number, until the test
    /// calls `letRenew`.
    func holdRenewals(of other: StreamServer) async throws {
        try await self.run(
            """
            create function hold() returns trigger language plpgsql as $$ begin raise exception 'held'; end $$
            """
        )
        try await self.run(
            """
            create trigger hold before update of until on node for each row
            when (old.number = \(other.store.membership.number)) execute function hold()
            """
        )
        try await self.run("create trigger hold_new before insert on node for each row execute function hold()")
    }

    func letRenew() async throws {
        try await self.run("drop trigger hold_new on node")
        try await self.run("drop trigger hold on node")
    }
}

/// Records the events that arrive at devices.
final class Inbox: Sendable {
    private let events = Mutex([RegistrationID: [Int64]]())

    func record(_ notification: Int64, at device: RegistrationID) {
        self.events.withLock { $0[device, default: []].append(notification) }
    }

    subscript(device: RegistrationID) -> [Int64] { self.events.withLock { $0[device] ?? [] } }
}

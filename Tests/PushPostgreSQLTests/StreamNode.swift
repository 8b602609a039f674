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

/// Two nodes, with a device of a user whose streams are noted in one inbox.
struct StreamPair: Sendable {
    let a: StreamNode
    let b: StreamNode
    let alice: User
    let device: RegistrationID
    let inbox = Inbox()

    init() async throws {
        self.a = try StreamNode()
        self.b = try StreamNode(beside: self.a)
        self.alice = try await self.a.fixture.addUser("alice", role: .publisher)
        self.device = try await self.a.addDevice(of: self.alice)
    }

    func post(_ numbers: Int64..., at node: StreamNode) async throws {
        for number in numbers { try await node.fixture.post(number, from: self.alice, to: "username:alice") }
    }

    func open(at node: StreamNode) async throws -> StreamSubscription {
        try await node.open(self.device, of: self.alice, into: self.inbox)
    }
}

/// One of several processes that share a database, with the event streams that are open at it.
struct StreamNode: Sendable {
    let fixture: StoreFixture
    let hub: StreamHub
    let wakeUp = WakeUp()

    /// A node with a database of its own, or beside another one.
    init(beside other: StreamNode? = nil) throws {
        var options = StoreOptions()
        options.streamLanes = ["stream"]
        self.hub = options.streams
        self.fixture = try other?.fixture.reopened(options: options) ?? StoreFixture(.postgreSQL, options: options)
    }

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

    /// Opens a stream whose client reads at once.
    func open(_ device: RegistrationID, of user: User, into inbox: Inbox) async throws -> StreamSubscription {
        let handle = try #require(DeviceHandle(device.description))
        let subscription = try #require(self.hub.open([handle], ofUser: user.id))
        let mailbox = subscription.mailbox
        mailbox.attach { [weak mailbox] in
            for event in mailbox?.take().events ?? [] {
                inbox.note(event.id.rawValue, at: device)
                event.succeed()
            }
        }
        _ = try await self.store.streamOpened(for: [device], ofUser: user.id, after: nil, now: self.fixture.now)
        self.wakeUp()
        return subscription
    }

    /// Sends what this node may send now, once; returns the notifications that it has leased.
    @discardableResult
    func deliver() async throws -> [Int64] {
        let leased = try await self.fixture.claim("stream")
        for delivery in leased { try await self.send(delivery) }
        return leased.map(\.push.notification.rawValue).sorted()
    }

    func send(_ delivery: LeasedDelivery) async throws {
        let outcome = await StreamSender(self.hub).outcome(of: delivery.push)
        let now = self.fixture.now
        let settlement = delivery.state.settlement(of: outcome, blame: .device, now: now, jitter: 0)
        try await self.fixture.settle(delivery, as: settlement)
    }

    /// Delivers, and keeps the rows of streams, as a server does, as long as `body` runs.
    func whileRunning(_ lane: LaneSettings? = nil, _ body: @escaping @Sendable () async throws -> Void) async throws {
        var lane = lane ?? LaneSettings(Lane(Platform("stream")), sender: StreamSender(self.hub))
        lane.rest = .milliseconds(20)
        let service = try DeliveryService(
            store: self.fixture.store,
            lanes: [lane],
            wakeUp: self.wakeUp,
            status: SenderStatus(),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            now: { self.fixture.now }
        )
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                // Ends by cancellation, and says so.
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

    // MARK: - What goes wrong

    func run(_ sql: String) async throws {
        _ = try await self.store.database.query(sql, values: [])
    }

    /// Has another process's number fenced, as others do some seconds after its end.
    func fence(_ other: StreamNode) async throws {
        try await self.run("update node set is_fenced = true where number = \(other.store.node.number)")
    }

    /// Lets no renewal of another process's number through, and gives no process a new one, until `letRenew`.
    func holdRenewals(of other: StreamNode) async throws {
        try await self.run(
            """
            create function hold() returns trigger language plpgsql as $$ begin raise exception 'held'; end $$
            """
        )
        try await self.run(
            """
            create trigger hold before update of until on node for each row
            when (old.number = \(other.store.node.number)) execute function hold()
            """
        )
        try await self.run("create trigger hold_new before insert on node for each row execute function hold()")
    }

    func letRenew() async throws {
        try await self.run("drop trigger hold_new on node")
        try await self.run("drop trigger hold on node")
    }
}

/// What has arrived at devices.
final class Inbox: Sendable {
    private let events = Mutex([RegistrationID: [Int64]]())

    func note(_ notification: Int64, at device: RegistrationID) {
        self.events.withLock { $0[device, default: []].append(notification) }
    }

    subscript(device: RegistrationID) -> [Int64] { self.events.withLock { $0[device] ?? [] } }
}

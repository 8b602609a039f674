internal import Dispatch
internal import Foundation
internal import Migrations
internal import PostgreSQL
package import PushCore
package import PushStore
internal import Reactor
internal import Synchronization

/// A store in a PostgreSQL database, which several processes may share.
///
/// All connections are on one event loop of the store's own.
package final class PostgreSQLStore: Sendable {
    let address: DatabaseAddress
    let database: ConnectionPool
    let options: StoreOptions
    let sealing: Sealing
    let keys: SharedKeys
    let audit: AuditChain
    /// This process, as the others see it: pushes are leased under its number.
    let node: Node
    let slots = WriterSlots()
    let posts = GroupQueue<PostMember, PostEnd>(.posts)
    let fetches = GroupQueue<NotificationFetch, FetchEnd>(.fetches)
    let receipts = ReceiptBook()
    let tokenUses = TokenUses()
    let removals = RemovalClock()
    let leases = LeaseBook()
    let marks = ClaimMarks()
    let retentionMarks = RetentionMarks()
    let retentionProgress = RetentionProgress()
    let streamBook = StreamBook()
    let echoes = StreamEchoes()
    let condition: StoreCondition
    /// How often the keyring was exchanged, or was about to be.
    let exchanges = Atomic(0)
    /// Set when receipts wait to be written.
    let receiptSignal = Signal()
    private let loop: EventLoop

    /// Opens a database, and migrates its schema. Waits for the database. Throws `StoreError`.
    convenience init(
        _ address: DatabaseAddress,
        _ keyring: Keyring,
        _ options: StoreOptions,
        _ migrations: [Migration],
        _ pool: PoolOptions
    ) throws(StoreError) {
        let opened = try OpenedDatabase(address, keyring, options, migrations)
        do {
            self.init(opened, options, pool, on: try EventLoop(index: 0, name: "database"))
        } catch {
            throw StoreError(opening: address.description, error)
        }
    }

    private init(_ opened: OpenedDatabase, _ options: StoreOptions, _ pool: PoolOptions, on loop: EventLoop) {
        self.address = opened.address
        let condition = StoreCondition(mark: options.mark, onEvent: options.onEvent)
        let leases = self.leases
        self.database = ConnectionPool(opened.address, pool, on: loop, after: opened.identity) { event in
            // The new primary may have leases that were settled at the old one.
            if case .advanced = event { leases.noteUnknownOutcome(now: .now) }
            condition.note(event)
        }
        self.options = options
        self.sealing = opened.sealing
        self.keys = opened.keys
        self.audit = AuditChain(opened.sealing.vault, opened.sealing.secret)
        self.condition = condition
        self.loop = loop
        self.node = Node(
            opened.membership,
            options,
            schema: opened.schema,
            opened.keys,
            self.database,
            on: loop
        ) { [marks] in
            marks.forgetAll()
            options.onWork()
        }
        self.database.listen("listen sealpost") { [weak node, echoes] in
            guard let message = node?.hear($0), message.hasEvents else { return }
            echoes.signal.set()
        }
        self.node.begin()
        options.streams.watch { [streamBook] in streamBook.note($0) }
    }

    /// A store that was not closed ends as its process would: others take over what it has leased some seconds later.
    deinit {
        guard self.condition.beginClosing() else { return }
        self.node.abandon()
        // The thread that drops the last reference may be the loop's, and must not wait. Its end closes the connections.
        DispatchQueue.global().async { [loop] in loop.stop() }
    }

    package var isShared: Bool { true }

    package var lease: CredentialLease? { self.node.lease }

    package var vault: Vault { self.sealing.vault }

    package var indexSecret: IndexSecret { self.sealing.secret }

    /// Which tags of devices count.
    var tags: TagPolicy { self.options.tags }

    /// Writes the receipts, lets others have what this process has leased, and ends the connections after the work that was
    /// submitted.
    package func close() async {
        guard self.condition.beginClosing() else { return }
        // What cannot be written is lost with the process, as in a crash.
        try? await self.writeReceipts()
        await self.node.end()
        await self.database.close()
        self.loop.stop()
    }
}

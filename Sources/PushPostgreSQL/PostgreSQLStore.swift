internal import Dispatch
internal import Migrations
internal import PostgreSQL
package import PushCore
internal import PushStore
internal import Reactor
internal import Synchronization

/// A store in a PostgreSQL database, which several servers may share.
///
/// All its connections are on an event loop that only this store uses.
package final class PostgreSQLStore: Store {
    let address: DatabaseAddress
    let database: ConnectionPool
    let options: StoreOptions
    package let sealing: Sealing
    let keys: SharedKeys
    let audit: AuditChain
    /// This server's lease. While it lasts, the server may send pushes.
    let membership: ServerMembership
    let slots = WriterSlots()
    let posts = GroupQueue<PostRequest, PostEnd>(.posts)
    let fetches = GroupQueue<NotificationFetch, Row?>(.fetches)
    let receipts = ReceiptBook()
    package let tokenUses = TokenUses()
    let leases = LeaseBook()
    let marks = SearchMarks()
    let retentionProgress = RetentionProgress()
    let streamBook = StreamBook()
    let echoes = StreamEchoes()
    let condition: DatabaseCondition
    /// The number of replacements of the keyring that have begun.
    let exchanges = Atomic(0)
    /// Set when receipts wait to be written.
    let receiptSignal = Signal()
    private let loop: EventLoop

    /// Opens a database, and migrates its schema. Blocks until the database answers. Throws
    /// `StoreError`.
    init(
        _ address: DatabaseAddress,
        _ keyring: Keyring,
        _ options: StoreOptions,
        _ migrations: [Migration],
        _ pool: PoolOptions
    ) throws(StoreError) {
        let opened = try OpenedDatabase(address, keyring, options, migrations)
        do {
            self.loop = try EventLoop(index: 0, name: "database")
        } catch {
            throw StoreError(opening: address.description, error)
        }
        self.address = address
        let condition = DatabaseCondition(mark: options.cluster.mark, onEvent: options.onEvent)
        let leases = self.leases
        self.database = ConnectionPool(address, pool, on: self.loop, after: opened.identity) { event in
            // The new primary may lack settlements that the old primary has stored. At the new
            // primary, the settled pushes are then still leased.
            if case .advanced = event { leases.recordUnknownOutcome(now: .now) }
            condition.record(event)
        }
        self.options = options
        self.sealing = opened.sealing
        self.keys = opened.keys
        self.audit = AuditChain(opened.sealing.vault, opened.sealing.secret)
        self.condition = condition
        self.membership = ServerMembership(
            opened.assigned,
            options.cluster,
            schema: opened.schema,
            opened.keys,
            self.database,
            condition.shared,
            on: self.loop
        ) { [marks] in
            marks.forgetAll()
            options.cluster.onWork()
        }
        self.database.listen("listen sealpost") { [weak membership, echoes] in
            guard let message = membership?.receive($0), message.news.contains(.events) else { return }
            echoes.signal.set()
        }
        self.membership.begin()
        options.streams.watch { [streamBook] in streamBook.record($0) }
    }

    /// If nobody has closed the store, its leases end as after a crash: some seconds later, other
    /// servers take them over.
    deinit {
        guard self.condition.beginClosing() else { return }
        self.membership.abandon()
        // The thread that drops the last reference may be the event loop's, which must not wait
        // for itself. So another thread stops the loop, which closes the connections.
        DispatchQueue.global().async { [loop] in loop.stop() }
    }

    package var lease: CredentialLease { self.membership.lease }

    /// Even without a signal, the store checks after this time for receipts (records of fetches),
    /// and whether a key waits for other servers.
    static let longestWait = Duration.seconds(60)

    /// The store's background work, until the task is cancelled. It writes receipts and the ends
    /// of event streams in groups, a short time after the first of each group. It repeats events
    /// that other servers send to devices with an event stream at this server. It switches to the
    /// keyring's first key once all servers have that key. It analyzes tables that have grown from
    /// empty. It checks whether an unusable database can be used again.
    package func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.keepReceipts() }
            group.addTask { await self.keepStreams() }
            group.addTask { await self.keepEchoes() }
            group.addTask { await self.keepKeys() }
            group.addTask { await self.keepStatistics() }
            group.addTask { await self.keepRights() }
        }
    }

    /// Repeats `body` until the task is cancelled; a cancellation also sets `signal`. After a
    /// failure of `body`, waits for `pause`.
    func repeating(_ signal: Signal, pause: Duration, _ body: () async throws -> Void) async {
        await withTaskCancellationHandler {
            while !Task.isCancelled {
                do {
                    try await body()
                } catch {
                    // This failure is not logged here: while the database fails, requests that
                    // store notifications report it. If the task is cancelled, this sleep ends
                    // early, and the loop's condition then ends the loop.
                    try? await Task.sleep(for: pause)
                }
            }
        } onCancel: {
            signal.set()
        }
    }

    /// Writes the receipts, ends this server's lease, and closes the connections once the
    /// submitted work is done.
    package func close() async {
        guard self.condition.beginClosing() else { return }
        // Receipts that cannot be written now are lost, as in a crash.
        try? await self.writeReceipts()
        await self.membership.end()
        await self.database.close()
        self.loop.stop()
    }
}

package import Foundation
package import PushCore

/// All data that the server stores: accounts, tokens, devices, notifications, the outbox, the
/// audit and the keys.
///
/// Each function is one atomic transaction, which is durable when the function returns. No
/// transaction spans two calls. Outcomes that a caller must handle are returned; failures are
/// thrown as `StoreError`. A caller gets only the protocol that it uses, such as `any
/// DeviceStore`. `docs/decisions/store-interface.md` gives the reasons for this division.
package protocol Store: AccountStore, TokenStore, DeviceStore, NotificationStore, OutboxStore, EventStore, AuditStore,
    KeyStore, StoreHealth
{
    /// The functions of a store that several servers can share; `nil` if only one server can use
    /// the store.
    var cluster: (any Cluster)? { get }

    /// Makes a reader for one event loop or another executor. All functions of the reader must be
    /// called on this loop or executor.
    func makeReader() throws(StoreError) -> any StoreReader

    /// Does the store's background work, such as the delayed writes of receipts, until the task is
    /// cancelled. It must not run twice at the same time.
    func run() async

    /// Finishes the submitted work, and closes the store, so that another process can open it.
    func close() async
}

/// Reads all data that the server stores. It sees each commit as soon as the commit is
/// acknowledged.
///
/// Each reader belongs to one executor. So a store over a network can have a connection for each
/// event loop, and no caller changes threads.
package protocol StoreReader: AnyObject, AccountReader, NotificationReader, OutboxReader, EventReader, AuditReader {
    /// Reads for a fetch, without async functions.
    var fetchReader: FetchReader { get }

    /// The approximate number of values that a pass of `KeyStore.rewrap` examines. This function
    /// counts all rows of the tables that have encrypted values.
    func countSealed() async throws(StoreError) -> Int
}

extension StoreReader {
    /// The reader for the first step of a fetch, if the store can answer without waiting for a
    /// network; otherwise `nil`.
    package var immediate: (any ImmediateReader)? {
        if case .immediate(let reader) = self.fetchReader { reader } else { nil }
    }
}

/// A reader for fetches: it answers at once, or combines the fetches of several callers.
package enum FetchReader {
    case immediate(any ImmediateReader)
    case grouped(any GroupedReader)
}

/// Combines the fetches of several callers into one query.
package protocol GroupedReader: AnyObject {
    /// Prepares a read that returns the same as the function `notification` of
    /// `NotificationReader`. It avoids the ten nested async calls that a fetch would otherwise
    /// need.
    func pendingNotification(_ fetch: NotificationFetch) -> any PendingNotification
}

/// Reads that wait only for this machine's memory and disk.
///
/// A call of an `async` function costs some 500 instructions, even if the function does not wait.
/// A fetch usually makes several such nested calls. Through these functions, a fetch makes no
/// `async` call.
package protocol ImmediateReader: AnyObject, Sendable {
    /// The user with this name, like the function of `AccountReader`.
    func user(named name: Username) throws(StoreError) -> User?

    /// The user and the permissions of a valid token, like the function of `AccountReader`.
    func user(withToken fingerprint: Fingerprint, now: Date) throws(StoreError) -> (user: User, grant: TokenGrant)?

    /// The notification, like the function of `NotificationReader`.
    func notification(_ fetch: NotificationFetch) throws(StoreError) -> StoredNotification?
}

/// The health of the store, in the form for operators.
package protocol StoreHealth: Sendable {
    /// The reason why the store no longer accepts writes; `nil` as long as it accepts them.
    var failure: String? { get }

    /// The reason why the store does not use a database that it can reach; `nil` as long as it
    /// uses the database. This text is public.
    var refusal: String? { get }

    /// Whether the database cannot be used until an operator acts: its file is damaged, or the
    /// server lacks a right.
    var isUnusable: Bool { get }

    /// Whether writes fail because the disk is full.
    var isFull: Bool { get }

    var report: StoreReport { get }
}

/// Options for opening a store.
package struct StoreOptions: Sendable {
    /// A request's write that has waited longer than this is refused, because the deadline of the
    /// request's handler is near.
    package var writeTimeout = Duration.seconds(20)
    /// The lanes (queues of pushes) of event streams. A device in such a lane can be reached only
    /// while it has a stream open; otherwise its pushes wait for `streamOpened`.
    package var streamLanes: Set<String> = []
    /// The event streams that are open at this server.
    package var streams = StreamHub()
    /// The lanes whose devices get looks (pushes that tell a device to sync). The values are the
    /// minimum times between two looks of one device.
    package var looks: [String: Duration] = [:]
    /// The lifetime of a look (a push that tells a device to sync). It equals the default lifetime
    /// of a notification: providers see the lifetime, and could otherwise tell looks from other
    /// pushes.
    package var lookLifetime = Duration.seconds(2_592_000)
    /// The store adds to this book the changes that it makes without a request, for example when
    /// the lease of a read-once payload expires.
    package var lookBook = LookBook()
    /// Decides which of the tags that devices set have an effect.
    package var tags = TagPolicy()
    /// Whether the store also opens a database whose data was moved to another one, so that
    /// commands can read the old data.
    package var admitsMoved = false
    /// The kinds of events that the store records; if empty, it records no events.
    package var events: Set<PushEvent.Kind> = []
    /// The options that only a store shared by several servers uses.
    package var cluster = ClusterOptions()
    /// Records a span for each commit of a request that is traced; `nil`: no spans are recorded.
    package var spans: SpanRecorder?
    /// The clock for times that do not come from a request.
    package var now: @Sendable () -> Date = { Date() }
    /// Gets the store's events, on any thread. After the event `broken`, the store acknowledges no
    /// further write.
    package var onEvent: @Sendable (StoreEvent) -> Void = { _ in }

    package init() {}

    /// Whether a device is out of reach until it opens an event stream at this server. `device` is
    /// its registration id.
    package func isAway(_ lane: String, _ device: String) -> Bool {
        self.streamLanes.contains(lane) && DeviceHandle(device).map(self.streams.isListening) == false
    }
}

/// The location of a store. It can open the store. It can also inspect the store from outside,
/// without changing it, even while a server runs.
package protocol StorePlace: Sendable, CustomStringConvertible {
    /// The reason why no store can be at this location; `nil` if the location is valid. The text
    /// contains no password, even if the location's text does.
    var fault: String? { get }

    /// Whether a store exists here. Throws `StoreError` if that cannot be found out, for example
    /// because the database's server does not answer.
    func isMade() throws(StoreError) -> Bool

    /// Opens the store and migrates its schema. If there is no store, creates it.
    func open(_ keyring: Keyring, _ options: StoreOptions) throws(StoreError) -> any Store

    /// The data keys in use; empty if there is no store.
    func dataKeys() throws(StoreError) -> [DataKeyEntry]

    /// The number of values that are encrypted with this key. Reads the whole store, which can
    /// take long.
    func countSealed(with key: UInt32) throws(StoreError) -> Int

    /// Reads the whole store, which can take long. Throws `StoreError` if the store cannot be
    /// opened, or if it cannot be read as a store.
    func inspect() throws(StoreError) -> StoreInspection

    /// The functions of a place whose store several servers can share; otherwise `nil`.
    var cluster: (any ClusterPlace)? { get }

    /// When the store was last written, by the clock of the machine that wrote, and the place
    /// where this time is recorded. `nil` if nothing was ever written.
    var lastWrite: (place: String, at: Date)? { get }

    /// The number of free bytes, and the place of the disk; `nil` if the disk is on another
    /// machine, which does not report this number.
    func freeSpace() throws(StoreError) -> (bytes: UInt64, place: String)?
}

extension StorePlace {
    package var cluster: (any ClusterPlace)? { nil }

    /// Whether a store exists here; also `true` if this cannot be found out.
    package var exists: Bool {
        // If the check fails, the caller gets the error later, when it opens the store.
        (try? self.isMade()) ?? true
    }
}

/// The result of an inspection of a store.
package struct StoreInspection: Sendable, Hashable {
    /// The faults that were found, one in each line; empty if no fault was found.
    package var damage: [String] = []
    /// The migrations that this program would run at its next start.
    package var missingMigrations: [String] = []
    /// The last migration in the database that this program does not know, because a newer version
    /// has written the store; `nil` if it knows all.
    package var unknownMigration: String?
    /// The first migration in the database that differs from this program's migration with the
    /// same name; `nil` if all are equal.
    package var changedMigration: String?
    /// The reason why no server opens this store: it was moved, or a move into it has not
    /// finished. Otherwise `nil`.
    package var move: String?
    /// For each lane (a provider's queue), the number of its pushes with each outcome; empty if
    /// the store is damaged.
    package var tallies: [String: Tally] = [:]

    package init() {}
}

package import Foundation
package import PushCore

/// All data that the server stores: accounts, tokens, devices, notifications, the outbox, the
/// audit and the keys.
///
/// Each function is one transaction, atomic, and durable when it returns; no transaction spans two
/// calls. Outcomes that a caller must decide about are returned, and failures are thrown as
/// `StoreError`. A caller takes only the protocol that it uses, such as `any DeviceStore`.
/// `docs/decisions/store-interface.md` gives the reasons for this division.
package protocol Store: AccountStore, TokenStore, DeviceStore, NotificationStore, OutboxStore, EventStore, AuditStore,
    KeyStore, StoreHealth
{
    /// Whether other servers may change the stored data at any time.
    var isShared: Bool { get }

    /// Exchanges delays and pauses with the other servers that share the store; `nil` if one
    /// server has the store alone.
    var limits: (any LimitStore)? { get }

    /// Makes a reader for one event loop or other executor, from which all its functions must be
    /// called.
    func makeReader() throws(StoreError) -> any StoreReader

    /// The stored bytes, with a descriptive name for each part: the files on this machine's disk,
    /// or the bytes that a database server returns. A search through them can show that a value is
    /// not stored in clear.
    func bytesAtRest() throws -> [(name: String, bytes: Data)]

    /// Does the store's background work, such as writing receipts late, until the task is
    /// cancelled. Must not run twice at a time.
    func run() async

    /// Finishes the work that was submitted before, and lets other processes open the store.
    func close() async
}

/// Reads all that the server stores; sees each commit from the moment that it is acknowledged.
///
/// A reader belongs to one executor, so that a store over a network has a connection for each
/// event loop and no caller changes threads.
package protocol StoreReader: AccountReader, TokenReader, DeviceReader, NotificationReader, OutboxReader, EventReader,
    AuditReader, KeyReader
{
    /// The reader for the start of each fetch, if the store can answer without waiting; otherwise
    /// `nil`.
    var immediate: (any ImmediateReader)? { get }

    /// The reader for the start of each fetch, if the store answers in groups; otherwise `nil`.
    var gathering: (any GatheringReader)? { get }
}

/// Reads that wait only for this machine's memory and disk.
///
/// A call of an `async` function costs some 500 instructions, whether it waits or not. A usual
/// fetch makes several such calls, one within the other. A fetch through these functions makes
/// none.
package protocol ImmediateReader: Sendable {
    /// The user of that name, as in `AccountReader`.
    func user(named name: Username) throws(StoreError) -> User?

    /// The user of a valid token, and the token's rights, as in `AccountReader`.
    func user(withToken fingerprint: Fingerprint, now: Date) throws(StoreError) -> (user: User, grant: TokenGrant)?

    /// The notification, as in `NotificationReader`.
    func notification(
        _ id: NotificationID,
        for user: Int64,
        alsoAsSender: Bool,
        now: Date
    ) throws(StoreError) -> StoredNotification?
}

/// The health of the store, for operators.
package protocol StoreHealth: Sendable {
    /// The reason why the store no longer accepts writes; `nil` while it does.
    var failure: String? { get }

    /// The reason why the store refuses a database that answers, in words that anybody may see;
    /// `nil` while the store uses it.
    var refusal: String? { get }

    /// Whether writes fail until there is room on the disk.
    var isFull: Bool { get }

    var report: StoreReport { get }

    /// Asks a database that several servers share for its figures; `nil` for a store of one
    /// server.
    func sharing() async throws(StoreError) -> SharingReport?

    /// The servers that share the store, ended servers last; empty for a store of one server.
    ///
    /// The store drops an ended server after a day. At most `limit`.
    func servers(limit: Int) async throws(StoreError) -> [ServerEntry]
}

extension StoreHealth {
    package var refusal: String? { nil }
}

/// Options for opening a store.
package struct StoreOptions: Sendable {
    /// The store refuses a request's write that has waited longer than this, since its handler's
    /// deadline is near.
    package var writeTimeout = Duration.seconds(20)
    /// The lanes whose devices can be reached only while they have an event stream open. Pushes to
    /// a device without one wait for `streamOpened`.
    package var streamLanes: Set<String> = []
    /// The streams that are open in this server.
    package var streams = StreamHub()
    /// The lanes whose devices get looks, each with the shortest time between two looks of a
    /// device.
    package var looks: [String: Duration] = [:]
    /// Receives the changes that the store makes by itself.
    package var lookBook = LookBook()
    /// Decides which of the tags that devices set count.
    package var tags = TagPolicy()
    /// Whether a database that was moved to another place is opened all the same, to be read.
    package var admitsMoved = false
    /// The kinds of events that are stored; empty: none.
    package var events: Set<PushEvent.Kind> = []
    /// The version of the program, which a store that several servers share shows to operators.
    package var release = ""
    /// Whether a store that several servers share still lists this server to operators after
    /// its end: `true` for servers, not for commands.
    package var isListedAfterEnd = true
    /// The lanes whose pushes another server may have to send. A store that several servers
    /// share announces new pushes in these lanes.
    package var announcedLanes: Set<String> = []
    /// Called from any thread when another server has announced work in one of `announcedLanes`;
    /// an announcement may be lost.
    package var onWork: @Sendable () -> Void = {}
    /// The keeper of the day keys' secret; `nil`: the keyring encrypts everything. A store that
    /// overwrites erased data needs none.
    package var dayChain: (any DayChainKeeper)?
    /// The keeper of the database's mark, which the store compares at its start; `nil`: the mark
    /// is kept in memory only.
    package var mark: (any DatabaseMarkKeeper)?
    /// Called before each exchange with the servers that share the store. `false` skips the
    /// exchange, as if this server were stopped: for tests.
    package var mayExchange: @Sendable () -> Bool = { true }
    /// Receives a span of each commit for a request whose trace is recorded; `nil`: none.
    package var spans: SpanRecorder?
    /// The clock for times that the store writes by itself.
    package var now: @Sendable () -> Date = { Date() }
    /// Receives the store's events, from any thread. After the event `broken`, no write is
    /// acknowledged.
    package var onEvent: @Sendable (StoreEvent) -> Void = { _ in }

    package init() {}

    /// Whether a device, given by lane and registration id, cannot be reached through this server
    /// until it connects to it.
    package func isAway(_ lane: String, _ device: String) -> Bool {
        self.streamLanes.contains(lane) && DeviceHandle(device).map(self.streams.isListening) == false
    }
}

/// The location of a store: opens the store, and inspects it from outside, read-only, also while a
/// server runs.
package protocol StorePlace: Sendable, CustomStringConvertible {
    /// The reason why the place cannot be used, without any password that the place's text
    /// contains; `nil` if it can.
    var fault: String? { get }

    /// Whether there is a store already. Throws `StoreError` if that cannot be found out, for
    /// example because the database's server does not answer.
    func isMade() throws(StoreError) -> Bool

    /// Opens the store, creates it if there is none, and migrates its schema.
    func open(_ keyring: Keyring, _ options: StoreOptions) throws(StoreError) -> any Store

    /// The keys in use; empty if there is no store.
    func dataKeys() throws(StoreError) -> [DataKeyEntry]

    /// How many values are encrypted with a key. Reads all of the store, which can take long.
    func countSealed(with key: UInt32) throws(StoreError) -> Int

    /// The servers that have the store open, and their data keys; empty for a store of one
    /// server.
    func serverKeys() throws(StoreError) -> [ServerKeys]

    /// Marks a key of the keyring as in use, so that the next pass re-encrypts the values under
    /// it. A store of one server does nothing: all its keys in use are marked.
    func takeIntoUse(_ number: UInt32, of keyring: Keyring) throws(StoreError)

    /// The state of the day keys; `nil` if the store needs none, or if there is no store.
    func dayKeys() throws(StoreError) -> DayKeyReport?

    /// Reads the whole store, which can take long. Throws `StoreError` if it cannot be opened or
    /// read as a store.
    func inspect() throws(StoreError) -> StoreInspection

    /// The place and time of the last write, by the clock of the machine that wrote; `nil` if
    /// there was none.
    var lastWrite: (place: String, at: Date)? { get }

    /// How many bytes are free, and where; `nil` if the place is on another machine, which does
    /// not report that.
    func freeSpace() throws(StoreError) -> (bytes: UInt64, place: String)?
}

extension StorePlace {
    package var fault: String? { nil }

    /// Whether there is a store already; also `true` if the check fails.
    package var exists: Bool {
        // If the check fails, the caller gets the error when it then opens the store.
        (try? self.isMade()) ?? true
    }

    package func takeIntoUse(_ number: UInt32, of keyring: Keyring) throws(StoreError) {}

    package func dayKeys() throws(StoreError) -> DayKeyReport? { nil }

    package func serverKeys() throws(StoreError) -> [ServerKeys] { [] }
}

/// The result of an inspection of a store.
package struct StoreInspection: Sendable, Hashable {
    /// The faults, line by line; empty if there are none.
    package let damage: [String]
    /// The migrations that this program would apply at the next start.
    package let missingMigrations: [String]
    /// The last migration that this program does not know, if a newer version wrote the store.
    package let unknownMigration: String?
    /// The first applied migration that differs from this program's migration.
    package let changedMigration: String?
    /// If the store was moved, or a move into it has not finished: the reason why no server opens
    /// it; otherwise `nil`.
    package let move: String?
    /// The tallies of all lanes that ever had a push; empty if the store is damaged.
    package let tallies: [String: Tally]

    package init(
        damage: [String],
        missingMigrations: [String],
        unknownMigration: String?,
        changedMigration: String?,
        move: String?,
        tallies: [String: Tally]
    ) {
        (self.damage, self.move, self.tallies) = (damage, move, tallies)
        (self.missingMigrations, self.unknownMigration) = (missingMigrations, unknownMigration)
        self.changedMigration = changedMigration
    }
}

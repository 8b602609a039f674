package import Foundation
package import PushCore

/// All that the server keeps: accounts, tokens, devices, notifications, the outbox, the audit and the keys.
///
/// Each function is one transaction, whole or not at all, and durable when it returns; none spans two calls. What a caller must
/// decide about is returned, and `StoreError` is thrown for what went wrong. Rooms above take the part that they use, such as
/// `any DeviceStore`. `docs/decisions/store-interface.md` tells why it is cut like this.
package protocol Store: AccountStore, TokenStore, DeviceStore, NotificationStore, OutboxStore, AuditStore, KeyStore,
    StoreHealth
{
    /// A reader for one event loop, or one other executor: all its functions are to be called from there.
    func makeReader() throws(StoreError) -> any StoreReader

    /// The bytes that lie on this machine's disk, with a name for each file in words; for a search that shows that something
    /// is not among them.
    func bytesAtRest() throws -> [(name: String, bytes: Data)]

    /// Finishes what was handed in before, and lets others open the store.
    func close() async
}

/// Reads all that the server keeps; sees each commit from the moment on at which it was answered.
///
/// Belongs to one executor, so that a store over a network has a connection for each event loop and no caller changes threads.
package protocol StoreReader: AccountReader, TokenReader, DeviceReader, NotificationReader, OutboxReader, AuditReader {
    /// The same for reads that each fetch begins with, if the store can answer them without waiting; else `nil`.
    var immediate: (any ImmediateReader)? { get }
}

/// Reads that wait for nothing but this machine's memory and disk.
///
/// A function that may wait costs some 500 instructions each time, whether it waits or not, and a fetch has several, one
/// calling the other. A fetch through these has none.
package protocol ImmediateReader: Sendable {
    /// As `AccountReader` has it.
    func user(named name: Username) throws(StoreError) -> User?

    /// As `TokenReader` has it.
    func user(withToken fingerprint: Fingerprint, now: Date) throws(StoreError) -> (user: User, grant: TokenGrant)?

    /// As `NotificationReader` has it.
    func notification(
        _ id: NotificationID,
        for user: Int64,
        alsoAsSender: Bool,
        now: Date
    ) throws(StoreError) -> StoredNotification?
}

/// How the store is, for operators.
package protocol StoreHealth: Sendable {
    /// Why nothing can be stored any more; `nil` while all is well.
    var failure: String? { get }

    /// Whether nothing can be stored until there is room on the disk.
    var isFull: Bool { get }

    var report: StoreReport { get }
}

/// How the store is opened.
package struct StoreOptions: Sendable {
    /// A request's write that has waited for longer is refused, since its caller is answered soon.
    package var patience = Duration.seconds(20)
    /// Whether a device, by its lane and registration id, cannot be reached until it connects itself: its pushes wait for
    /// `makeDue`.
    package var isAway: @Sendable (_ lane: String, _ device: String) -> Bool = { _, _ in false }
    /// Called from any thread; after `broken` nothing is acknowledged.
    package var onEvent: @Sendable (StoreEvent) -> Void = { _ in }

    package init() {}
}

/// Where a store lies: opens it, and looks at it from outside, read-only and beside a server that runs.
package protocol StorePlace: Sendable, CustomStringConvertible {
    /// Whether there is a store already.
    var exists: Bool { get }

    /// Opens the store, makes it if there is none, and brings its schema up to date.
    func open(_ keyring: Keyring, _ options: StoreOptions) throws(StoreError) -> any Store

    /// The keys in use; none if there is no store.
    func dataKeys() throws(StoreError) -> [DataKeyEntry]

    /// Reads all of it, which takes its time. Throws `StoreError` if it cannot be opened or read as a store.
    func inspect() throws(StoreError) -> StoreInspection

    /// Where something was last written, and when by the clock of the machine that wrote; `nil` if nothing was.
    var lastWrite: (place: String, at: Date)? { get }

    /// How many bytes are free, and where.
    func freeSpace() throws(StoreError) -> (bytes: UInt64, place: String)
}

extension StorePlace {
    /// Opens the store as usual.
    package func open(_ keyring: Keyring) throws(StoreError) -> any Store {
        try self.open(keyring, StoreOptions())
    }
}

/// What an inspection of a store has found.
package struct StoreInspection: Sendable, Hashable {
    /// The faults, line by line; empty if there are none.
    package let damage: [String]
    /// Migrations that this program would make at the next start.
    package let missingMigrations: [String]
    /// The last migration that this program does not know: the store is of a newer one.
    package let unknownMigration: String?
    /// The first migration that is another one in this program than the store has had.
    package let changedMigration: String?

    package init(
        damage: [String],
        missingMigrations: [String],
        unknownMigration: String?,
        changedMigration: String?
    ) {
        self.damage = damage
        self.missingMigrations = missingMigrations
        self.unknownMigration = unknownMigration
        self.changedMigration = changedMigration
    }
}

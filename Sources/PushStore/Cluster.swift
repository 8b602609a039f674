package import Foundation
package import PushCore

/// The functions of a store that several servers can share. They exist only for the sake of the
/// other servers; a store that only one server can use lacks them.
package protocol Cluster: LimitStore {
    /// The lease of this server. While it lasts, the server trusts cached credentials, and may
    /// send the pushes that it has leased. Otherwise other servers may take the pushes over.
    var lease: CredentialLease { get }

    /// Reserves the next probe (a push that tests the provider) of a paused lane for this server;
    /// `false` while another server has reserved it. The caller may repeat the call.
    func acquireProbe(of lane: Lane) async throws -> Bool

    /// The reason why the keyring's first key does not encrypt yet; `nil` if it encrypts.
    var keyWait: KeyWait? { get }

    /// Destroys the keys of past days. Before that, re-encrypts those values that are encrypted
    /// with one of these keys and may still be read. Returns `nil` if the store has no day keys.
    func turnDayKeys(now: Date) async throws -> DayKeyTurn?

    /// Reads figures about the shared database.
    func sharing() async throws(StoreError) -> SharingReport

    /// The servers that share the store, at most `limit`; servers that have ended come last.
    ///
    /// A day after a server has ended, the store deletes its entry.
    func servers(limit: Int) async throws(StoreError) -> [ServerEntry]
}

/// The options of a store that several servers can share.
package struct ClusterOptions: Sendable {
    /// The version of the program, for operators.
    package var release = ""
    /// Whether the store still lists this server after its end. `true` for servers, `false` for
    /// commands.
    package var isListedAfterEnd = true
    /// The lanes (queues of pushes) whose pushes another server may have to send. The store
    /// announces new pushes in these lanes to the other servers.
    package var announcedLanes: Set<String> = []
    /// Called on any thread when another server has announced pushes in one of `announcedLanes`.
    /// An announcement may be lost.
    package var onWork: @Sendable () -> Void = {}
    /// Stores the secret of the day keys; `nil`: only keys of the keyring encrypt.
    package var dayChain: (any DayChainKeeper)?
    /// Stores the `DatabaseMark`, which the store compares with the database at its start; `nil`:
    /// the mark is only in memory.
    package var mark: (any DatabaseMarkKeeper)?
    /// For tests: called before each exchange of messages or reports with the other servers. If it
    /// returns `false`, this server skips the exchange, as if it were stopped.
    package var mayExchange: @Sendable () -> Bool = { true }
    /// For tests: whether this server fences servers that do not renew their leases, or do not
    /// confirm ended credentials, in time.
    package var fencesServers = true
}

/// The location of a store that several servers can share.
package protocol ClusterPlace: StorePlace {
    /// As at a start, throws if `mark` is damaged, or if it shows that a server has used another
    /// database or newer data.
    func compare(_ mark: any DatabaseMarkKeeper) throws(StoreError)

    /// The servers that have the store open, with their data keys.
    func serverKeys() throws(StoreError) -> [ServerKeys]

    /// Marks a key of the keyring as in use, so that the next pass over all values re-encrypts
    /// those that are encrypted with this key.
    func takeIntoUse(_ number: UInt32, of keyring: Keyring) throws(StoreError)

    /// The state of the day keys; `nil` if the store has none, or if there is no store.
    func dayKeys() throws(StoreError) -> DayKeyReport?
}

extension ClusterPlace {
    package var cluster: (any ClusterPlace)? { self }
}

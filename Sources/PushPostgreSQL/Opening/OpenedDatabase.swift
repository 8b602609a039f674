internal import Foundation
internal import Migrations
internal import PostgreSQL
internal import PushCore
internal import PushStore

/// A database that is ready for use: it is migrated, and this server has all data keys in use and
/// is registered in the table `node`.
struct OpenedDatabase {
    /// The cluster and its timeline. They are already stored in the server's `DatabaseMark`.
    let identity: ClusterIdentity
    let sealing: Sealing
    let keys: SharedKeys
    /// The number that this server got when it joined.
    let assigned: AssignedNumber
    /// The newest migration that this server knows.
    let schema: String

    /// Opens the database; blocks until the database answers. Throws `StoreError`.
    init(
        _ address: DatabaseAddress,
        _ keyring: Keyring,
        _ options: StoreOptions,
        _ migrations: [Migration]
    ) throws(StoreError) {
        do {
            let (connection, identity, kept) = try Self.connect(address, options.cluster.mark)
            self.identity = identity
            if kept != nil, let place = options.cluster.mark?.place, try !connection.has("migration") {
                // A role that may not use its schema sees no tables there.
                try SchemaOwnership.checkCreation(connection)
                let marks = "\(place), and the file day-keys beside it"
                throw StoreError.lost("\(address.description) is empty", mark: place, marks: marks)
            }
            try Schema.prepare(connection, migrations)
            // The mark is stored only now, so that a stored mark shows that the database had
            // tables.
            let mark = DatabaseMark(identity)
            if mark != kept { try options.cluster.mark?.keep(mark) }
            let hasDayKeys = migrations.contains { $0.name == Migration.dayKeys }
            let days = try options.cluster.dayChain.flatMap { keeper in
                hasDayKeys ? try DayKeyReport.open(keeper, now: options.now(), connection) : nil
            }
            let schema = migrations.map(\.name).max() ?? ""
            self.schema = schema
            (self.sealing, self.keys, self.assigned) = try connection.transaction {
                try Schema.holdMigrations(connection, migrations)
                try MoveMark.refuseUnfinished(connection, address)
                let agreement = try KeyAgreement(connection.query(KeyAgreement.all))
                try agreement.check(keyring)
                let choice = agreement.choice(keyring, besides: nil)
                try DataKeyEntry.record(choice.sealing, of: keyring, now: options.now(), connection)
                let vault = Vault(keyring.sealing(with: choice.sealing) ?? keyring, days: days)
                let secret = try Self.secret(connection, vault)
                try Self.beginEvents(connection, options.events, now: options.now())
                _ = try connection.query(ServerMembership.firstEpoch)
                let assigned = try Self.join(connection, options.cluster, schema: schema, vault, keyring)
                return (Sealing(vault, secret), SharedKeys(keyring, choice.wait, vault, options), assigned)
            }
        } catch {
            throw StoreError(opening: address.description, error)
        }
    }

    /// Connects, and compares the cluster with the stored `DatabaseMark`, so that an older
    /// database is neither read nor changed. Also returns this mark.
    static func connect(
        _ address: DatabaseAddress,
        _ keeper: (any DatabaseMarkKeeper)?
    ) throws -> (connection: BlockingConnection, identity: ClusterIdentity, kept: DatabaseMark?) {
        let kept: DatabaseMark?
        do {
            kept = try keeper?.load()
        } catch {
            throw StoreError.unusable(place: address.description, reason: "\(error)")
        }
        do {
            let last = kept.map { ClusterIdentity(system: $0.cluster, timeline: $0.timeline) }
            let (connection, identity) = try BlockingConnection.open(address, after: last)
            return (connection, identity, kept)
        } catch let fault as ClusterFault {
            let place = keeper?.place ?? "nowhere"
            throw StoreError.refused(summary: fault.summary, reason: fault.description, kept: place)
        }
    }

    /// Reads the database's secret for keyed hashes. The first start creates this secret.
    private static func secret(_ connection: BlockingConnection, _ vault: Vault) throws -> IndexSecret {
        let read = "select secret from index_secret where id = 1"
        var row = try connection.query(read).first
        if row == nil {
            // If another server creates the secret at the same time, this insert waits for that
            // server's transaction. Then it changes nothing, and the query reads that server's
            // secret.
            _ = try connection.query(
                "insert into index_secret (id, secret) values (1, $1) on conflict (id) do nothing",
                try vault.seal(IndexSecret().bytes, in: .indexSecret)
            )
            row = try connection.query(read).first
        }
        guard let row, let secret = IndexSecret(bytes: try vault.open(try row.data(), in: .indexSecret)) else {
            throw VaultError.unreadable
        }
        return secret
    }

    /// Inserts the row of `event_state`. If the store keeps any kind of event, also inserts a
    /// placeholder event; the next event gets the number after the placeholder's.
    private static func beginEvents(_ connection: BlockingConnection, _ kinds: Set<PushEvent.Kind>, now: Date) throws {
        _ = try connection.query(Self.eventState)
        if !kinds.isEmpty { _ = try connection.query(Self.placeholder, EventNumbers.first(at: now), now.milliseconds) }
    }

    private static let eventState =
        "insert into event_state (id, newest, delivered, trimmed) values (1, 0, 0, 0) on conflict (id) do nothing"

    private static let placeholder = """
        with s as (update event_state set newest = $1 where id = 1 and newest < $1 returning newest)
        insert into event (number, at, kind) select s.newest, $2, 0 from s
        """

    private static func join(
        _ connection: BlockingConnection,
        _ options: ClusterOptions,
        schema: String,
        _ vault: Vault,
        _ keyring: Keyring
    ) throws -> AssignedNumber {
        _ = try connection.query(ServerMembership.deleteFenced)
        let sealing = vault.keyring.sealing
        let start = ContinuousClock.now
        let row = try connection.query(
            ServerMembership.insertServer,
            ServerMembership.name,
            options.release,
            schema,
            Int64(sealing),
            SharedKeys.held(keyring, isCommand: !options.isListedAfterEnd),
            keyring.checkValue(of: sealing) ?? Data()
        ).first
        guard let row else { preconditionFailure("while migrations are held off, it returns a number or throws") }
        return try AssignedNumber(row, since: start)
    }
}

extension DatabaseMark {
    init(_ identity: ClusterIdentity) { self.init(cluster: identity.system, timeline: identity.timeline) }
}

internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

/// A database that is ready: migrated, with the keys in use, and with this process among its nodes.
struct OpenedDatabase {
    let address: DatabaseAddress
    let sealing: Sealing
    /// This process's number.
    let node: Int64

    /// Waits for the database. Throws `StoreError`.
    init(_ address: DatabaseAddress, _ keyring: Keyring, _ options: StoreOptions) throws(StoreError) {
        do {
            let connection = try BlockingConnection(address)
            try Schema.prepare(connection)
            let vault = Vault(keyring)
            self.address = address
            self.sealing = try connection.transaction {
                try DataKeyEntry.note(keyring, now: Date(), connection)
                let secret = try Self.secret(connection, vault)
                try Self.beginEvents(connection, options.events, now: Date())
                return Sealing(vault, secret)
            }
            self.node = try Self.join(connection, options, vault)
        } catch {
            throw StoreError(opening: address.description, error)
        }
    }

    /// Reads the database's secret, or creates it at the first start.
    private static func secret(_ connection: BlockingConnection, _ vault: Vault) throws -> IndexSecret {
        let read = "select secret from index_secret where id = 1"
        var row = try connection.query(read).first
        if row == nil {
            // Waits for another process that creates it at this moment, and then leaves that one's in place.
            _ = try connection.query(
                "insert into index_secret (id, secret) values (1, $1) on conflict (id) do nothing",
                try vault.seal(IndexSecret().bytes, in: .indexSecret)
            )
            row = try connection.query(read).first
        }
        guard let row, let secret = IndexSecret(bytes: try vault.open(try row.data(0), in: .indexSecret)) else {
            throw VaultError.unreadable
        }
        return secret
    }

    /// Stores the row of the events, and, if any kind is kept, one that is no event, after whose number the next event has one
    /// more.
    private static func beginEvents(
        _ connection: BlockingConnection,
        _ kinds: Set<PushEvent.Kind>,
        now: Date
    ) throws {
        _ = try connection.query(
            """
            insert into event_state (id, newest, delivered, trimmed) values (1, 0, 0, 0) on conflict (id) do nothing
            """
        )
        guard !kinds.isEmpty else { return }
        _ = try connection.query(
            """
            with s as (update event_state set newest = $1 where id = 1 and newest < $1 returning newest)
            insert into event (number, at, kind) select s.newest, $2, 0 from s
            """,
            EventNumbers.first(at: now),
            now.milliseconds
        )
    }

    private static func join(
        _ connection: BlockingConnection,
        _ options: StoreOptions,
        _ vault: Vault
    ) throws -> Int64 {
        _ = try connection.query(Node.forgetting)
        let row = try connection.query(Node.joining, Node.name, options.release, Int64(vault.keyring.sealing)).first
        guard let row else { preconditionFailure("an insert that returns a number returns it or throws") }
        return try row.integer(0)
    }
}

package import Foundation
package import Migrations
package import PostgreSQL
package import PushCore
package import PushStore

/// A PostgreSQL database, identified by its address.
package struct PostgreSQLPlace: ClusterPlace {
    /// The database's address; `nil` if the address is invalid.
    private let address: DatabaseAddress?
    /// The reason why the address is invalid; `nil` if it is valid. The reason never quotes the
    /// address, which may contain a password.
    package let fault: String?
    private let migrations: [Migration]
    private var pool = PoolOptions()

    /// Reads an address; `nil` if the text is the path of a file. If the address is invalid, the
    /// result has a `fault`.
    ///
    /// A text that contains `://`, `@` or `password=` never counts as a path. It may be an invalid
    /// address with a password, and messages show paths. `secret` returns the content of the
    /// password's file; it throws if other users may read the file.
    package init?(_ text: String, secret: (_ file: String) throws -> String) {
        guard ["://", "@", "password="].contains(where: text.lowercased().contains) else { return nil }
        self.migrations = Migration.allPostgreSQL
        do throws(AddressError) {
            (self.address, self.fault) = (try DatabaseAddress(text, secret: secret), nil)
        } catch {
            (self.address, self.fault) = (nil, error.reason)
        }
    }

    package init(
        _ address: DatabaseAddress,
        _ migrations: [Migration] = Migration.allPostgreSQL,
        pool: PoolOptions = PoolOptions()
    ) {
        (self.address, self.fault, self.migrations, self.pool) = (address, nil, migrations, pool)
    }

    /// The address without its password.
    package var description: String { self.address?.description ?? "postgres://…" }

    /// Blocks until the database answers.
    package func open(_ keyring: Keyring, _ options: StoreOptions) throws(StoreError) -> any Store {
        guard let address else { throw .cannotOpen(place: self.description, reason: self.fault ?? "") }
        return try PostgreSQLStore(address, keyring, options, self.migrations, self.pool)
    }

    /// Migrates the schema, and does nothing else. Blocks until the database answers.
    package func migrate() throws(StoreError) { try self.connected { try Schema.prepare($0, self.migrations) } }

    /// Whether the database has the tables of a store. Throws if it has none and the role may not
    /// create them.
    package func isMade() throws(StoreError) -> Bool {
        try self.connected { connection in
            if try connection.has("migration") { return true }
            try SchemaOwnership.checkCreation(connection)
            return false
        }
    }

    package func dataKeys() throws(StoreError) -> [DataKeyEntry] {
        try self.connected { connection in
            try connection.has("data_key") ? DataKeyEntry.entries(connection.query(DataKeyEntry.all)) : []
        }
    }

    package func countSealed(with key: UInt32) throws(StoreError) -> Int {
        try self.connected { connection in
            guard try connection.has("data_key") else { return 0 }
            let beginning = withUnsafeBytes(of: key.bigEndian) { Data([Vault.format]) + Data($0) }
            return try SealedColumn.all.reduce(0) { count, column in
                count + Int(clamping: try connection.query(column.counting, beginning)[0].integer())
            }
        }
    }

    package func compare(_ mark: any DatabaseMarkKeeper) throws(StoreError) { try self.connected(mark) { _ in } }

    package func takeIntoUse(_ number: UInt32, of keyring: Keyring) throws(StoreError) {
        guard let checkValue = keyring.checkValue(of: number) else { return }
        try self.connected { _ = try $0.query(DataKeyEntry.adding, Int64(number), checkValue, Date().milliseconds) }
    }

    package func serverKeys() throws(StoreError) -> [ServerKeys] {
        try self.connected { connection in
            guard try Schema.applied(connection).hashes[Migration.sharedKeys] != nil else { return [] }
            return try KeyAgreement(connection.query(KeyAgreement.all)).servers(besides: nil)
        }
    }

    package func dayKeys() throws(StoreError) -> DayKeyReport? {
        try self.connected { connection in
            guard try connection.has("day_chain") else { return nil }
            return try DayKeyReport(connection.query(DayKeyReport.all, Migration.dayKeys))
        }
    }

    /// Reads each row of each table. Reports the corruption that PostgreSQL notices while it
    /// reads; `pg_amcheck` finds more.
    ///
    /// Throws if other roles can change the schema, or if somebody has changed it.
    package func inspect() throws(StoreError) -> StoreInspection {
        try self.connected { connection in
            try SchemaOwnership.check(connection)
            try SchemaComparison.check(connection, self.migrations)
            let applied = try Schema.applied(connection)
            if !applied.missing(self.migrations).isEmpty { try SchemaOwnership.checkCreation(connection) }
            var inspection = StoreInspection()
            inspection.damage = try Self.damage(connection)
            inspection.missingMigrations = applied.missing(self.migrations)
            inspection.unknownMigration = applied.unknown(self.migrations)
            inspection.changedMigration = applied.changed(self.migrations)
            inspection.move =
                try MoveMark(connection).flatMap { $0.isFinished ? nil : "holds a move that has not finished" }
            if inspection.damage.isEmpty, !applied.hashes.isEmpty {
                inspection.tallies = try PostgreSQLStore.tallies(in: connection.query(PostgreSQLStore.tallies))
            }
            return inspection
        }
    }

    /// The time when a server last renewed its lease in this database, by the database's clock.
    package var lastWrite: (place: String, at: Date)? {
        // If the table cannot be read, there is no time that the caller could compare with its
        // clock.
        let renewed = try? self.connected { try $0.query("select max(until) from node")[0].integer() }
        return renewed.map { (self.description, Date(milliseconds: $0 - ServerMembership.leaseDuration)) }
    }

    /// Always `nil`: the disk belongs to the PostgreSQL server, and is not visible from here.
    package func freeSpace() throws(StoreError) -> (bytes: UInt64, place: String)? { nil }

    // MARK: - Private

    /// Runs `body` with a connection of its own. Waits for the database. Throws if the database
    /// is older than `mark`, or belongs to another cluster.
    func connected<Value>(
        _ mark: (any DatabaseMarkKeeper)? = nil,
        _ body: (BlockingConnection) throws -> Value
    ) throws(StoreError) -> Value {
        guard let address else { throw .cannotOpen(place: self.description, reason: self.fault ?? "") }
        do {
            return try body(OpenedDatabase.connect(address, mark).connection)
        } catch {
            throw StoreError(opening: self.description, error)
        }
    }

    /// The tables that PostgreSQL cannot read completely, each with its error.
    private static func damage(_ connection: BlockingConnection) throws -> [String] {
        try connection.query(PostgreSQLStore.columns).compactMap { row in
            let table = try row.text("name")
            do {
                _ = try connection.query("select max(length(\(try row.text("bytes")))) from \(table)")
                return nil
            } catch DatabaseError.refused(let code, let message) where code.hasPrefix("XX") {
                return "\(table): \(message)"
            }
        }
    }
}

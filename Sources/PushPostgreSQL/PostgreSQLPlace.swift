package import Foundation
package import Migrations
package import PostgreSQL
package import PushCore
package import PushStore

/// A PostgreSQL database, identified by its address.
package struct PostgreSQLPlace: Sendable, CustomStringConvertible {
    /// `nil`: the address is invalid; `fault` has the reason.
    private let address: DatabaseAddress?
    /// The reason why the address is invalid; `nil` if it is valid. Never contains the address,
    /// which may include a password.
    package let fault: String?
    private let migrations: [Migration]
    private let pool: PoolOptions

    /// `nil` if the text is the path of a file. An invalid address has a `fault`.
    ///
    /// A text with `://`, `@` or `password=` is never a path: an invalid address may have a
    /// password, and messages show paths. `secret` returns the text of the password's file, or
    /// throws if others may read it.
    package init?(_ text: String, secret: (_ file: String) throws -> String) {
        guard ["://", "@", "password="].contains(where: text.lowercased().contains) else { return nil }
        do throws(AddressError) {
            self.address = try DatabaseAddress(text, secret: secret)
            self.fault = nil
        } catch {
            self.address = nil
            self.fault = error.reason
        }
        self.migrations = Migration.allPostgreSQL
        self.pool = PoolOptions()
    }

    package init(
        _ address: DatabaseAddress,
        _ migrations: [Migration] = Migration.allPostgreSQL,
        pool: PoolOptions = PoolOptions()
    ) {
        self.address = address
        self.fault = nil
        self.migrations = migrations
        self.pool = pool
    }

    /// The address without its password.
    package var description: String { self.address?.description ?? "postgres://…" }

    /// Opens the database, creates its tables if there are none, and migrates its schema. Waits
    /// for the database.
    func openStore(_ keyring: Keyring, _ options: StoreOptions) throws(StoreError) -> PostgreSQLStore {
        guard let address else { throw .cannotOpen(place: self.description, reason: self.fault ?? "") }
        return try PostgreSQLStore(address, keyring, options, self.migrations, self.pool)
    }

    /// Migrates the schema only. Waits for the database.
    package func migrate() throws(StoreError) {
        try self.connected { try Schema.prepare($0, self.migrations) }
    }

    /// Whether the table of migrations exists. Throws if it does not, and the role may not create
    /// it.
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
            return try SealedColumn.all(usersIn: "account").reduce(0) { count, column in
                count + Int(clamping: try connection.query(column.counting, beginning)[0].integer(0))
            }
        }
    }

    /// Marks a key of the keyring as in use, so that the next pass re-encrypts the values that are
    /// encrypted with it.
    package func takeIntoUse(_ number: UInt32, of keyring: Keyring) throws(StoreError) {
        guard let checkValue = keyring.checkValue(of: number) else { return }
        try self.connected {
            _ = try $0.query(DataKeyEntry.adding, Int64(number), checkValue, Date().milliseconds)
        }
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

    /// Reads each row of each table. Reports the corruption that PostgreSQL finds while reading;
    /// `pg_amcheck` finds more.
    ///
    /// Throws if other roles can change the schema, or if somebody has changed it.
    package func inspect() throws(StoreError) -> StoreInspection {
        try self.connected { connection in
            try SchemaOwnership.check(connection)
            try SchemaComparison.check(connection, self.migrations)
            let applied = try Schema.applied(connection)
            if !applied.missing(self.migrations).isEmpty { try SchemaOwnership.checkCreation(connection) }
            let damage = try Self.damage(connection)
            let hasTallies = damage.isEmpty && !applied.hashes.isEmpty
            return StoreInspection(
                damage: damage,
                missingMigrations: applied.missing(self.migrations),
                unknownMigration: applied.unknown(self.migrations),
                changedMigration: applied.changed(self.migrations),
                move: try MoveMark(connection).flatMap { $0.isFinished ? nil : "holds a move that has not finished" },
                tallies: hasTallies
                    ? try PostgreSQLReader.tallies(in: connection.query(PostgreSQLReader.tallies)) : [:]
            )
        }
    }

    /// The last time that a server renewed its lease on this database, by the database's clock.
    package var lastWrite: (place: String, at: Date)? {
        // Without the database, or the table, there is no time to compare with.
        let renewed = try? self.connected { try $0.query("select max(until) from node")[0].integer(0) }
        return renewed.map { (self.description, Date(milliseconds: $0 - ServerMembership.leaseDuration)) }
    }

    /// `nil`: the database's disk belongs to the PostgreSQL server.
    package func freeSpace() throws(StoreError) -> (bytes: UInt64, place: String)? { nil }

    // MARK: - Private

    /// Runs `body` with a connection of its own. Waits for the database.
    func connected<Value>(_ body: (BlockingConnection) throws -> Value) throws(StoreError) -> Value {
        guard let address else { throw .cannotOpen(place: self.description, reason: self.fault ?? "") }
        do {
            return try body(BlockingConnection(address))
        } catch {
            throw StoreError(opening: self.description, error)
        }
    }

    /// The tables that PostgreSQL cannot read completely, each with the error.
    private static func damage(_ connection: BlockingConnection) throws -> [String] {
        let tables = try connection.query(PostgreSQLStore.columns)
        var damage: [String] = []
        for index in 0..<tables.count {
            let (table, columns) = (try tables[index].text(0), try tables[index].text(1))
            if let fault = try Self.fault(in: table, columns, connection) { damage.append("\(table): \(fault)") }
        }
        return damage
    }

    private static func fault(
        in table: String,
        _ columns: String,
        _ connection: BlockingConnection
    ) throws(DatabaseError) -> String? {
        do {
            _ = try connection.query("select max(length(\(columns))) from \(table)")
            return nil
        } catch {
            guard case .refused(let code, let message) = error, code.hasPrefix("XX") else { throw error }
            return message
        }
    }
}

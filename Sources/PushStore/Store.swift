internal import Foundation
internal import GRDB

/// The database: one connection that writes, and read-only ones for everybody else.
///
/// Two or more connections that write or checkpoint one WAL database at the same instant can corrupt it in every
/// SQLite before 3.51.3, so there is exactly one.
package final class Store: Sendable {
    package let path: String
    let writer: Writer
    private let lock: LockFile

    /// Opens the database, making it and its folder if need be, and brings its schema up to date.
    package init(path: String) throws(StoreError) {
        self.path = path
        do {
            let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
            try FileManager.default.createDirectory(
                at: folder,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw .cannotOpen(path: path, reason: error.localizedDescription)
        }
        self.lock = try LockFile(forDatabase: path)
        do {
            let connection = try DatabaseQueue(path: path, configuration: Self.configuration(isReadOnly: false))
            try connection.writeWithoutTransaction { try Schema.prepare($0) }
            // The payloads are sealed; names and handles are not.
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
            self.writer = Writer(connection)
        } catch let error as StoreError {
            throw error
        } catch let error as DatabaseError {
            throw .cannotOpen(path: path, reason: error.message ?? "\(error.resultCode)")
        } catch {
            throw .cannotOpen(path: path, reason: error.localizedDescription)
        }
    }

    /// A read-only connection, for one thread at a time: each event loop has its own.
    package func makeReader() throws(StoreError) -> Reader {
        do {
            return Reader(try DatabaseQueue(path: self.path, configuration: Self.configuration(isReadOnly: true)))
        } catch let error as DatabaseError {
            throw .cannotOpen(path: self.path, reason: error.message ?? "\(error.resultCode)")
        } catch {
            throw .cannotOpen(path: self.path, reason: error.localizedDescription)
        }
    }

    /// Waits for the writes handed in so far and leaves a database that needs no recovery.
    package func finish() async {
        await self.writer.finish()
    }

    private static func configuration(isReadOnly: Bool) -> Configuration {
        var configuration = Configuration()
        configuration.readonly = isReadOnly
        configuration.label = isReadOnly ? "reader" : "writer"
        configuration.busyMode = .timeout(5)
        configuration.foreignKeysEnabled = true
        configuration.prepareDatabase { db in
            // The writer checkpoints by itself, after its commits; nobody else ever does.
            try db.execute(sql: "pragma wal_autocheckpoint = 0")
            if isReadOnly { return }
            // FULL: with NORMAL a power cut takes back commits that were acknowledged.
            try db.execute(sql: "pragma journal_mode = wal")
            try db.execute(sql: "pragma synchronous = full")
            try db.execute(sql: "pragma secure_delete = on")
        }
        return configuration
    }
}

/// A read-only view of the database. One thread at a time.
package final class Reader: Sendable {
    private let connection: DatabaseQueue

    init(_ connection: DatabaseQueue) {
        self.connection = connection
    }

    /// Runs reads that each see the newest commit; blocks for as long as they take.
    func read<Value>(_ body: (Database) throws -> Value) throws(StoreError) -> Value {
        do {
            return try self.connection.unsafeRead(body)
        } catch let error as DatabaseError {
            throw StoreError(error)
        } catch {
            throw .broken(reason: "\(error)")
        }
    }
}

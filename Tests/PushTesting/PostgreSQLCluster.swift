package import Foundation
package import PostgreSQL
internal import Synchronization

/// The PostgreSQL cluster of this test process, with a database for each fixture.
///
/// ```swift
/// let address = try PostgreSQLCluster.shared.newDatabase()
/// ```
///
/// The cluster starts at its first use, in its own folder, on a unix socket only, and in memory if
/// the machine has enough. It ends with the test process, even if that process crashes.
package final class PostgreSQLCluster: Sendable {
    package static let shared = PostgreSQLCluster(keptLog: 0)

    private struct Running {
        let folder: TemporaryFolder
        let script: TiedScript
        let connection: BlockingConnection
    }

    private let keptLog: Int
    private let running = Mutex<Running?>(nil)
    private let lastDatabase = Atomic(0)

    /// Makes a cluster separate from the shared one. It keeps `keptLog` megabytes of its
    /// write-ahead log after a checkpoint.
    package init(keptLog: Int) {
        self.keptLog = keptLog
    }

    /// Makes a database, empty or as a copy of another one that is not in use.
    ///
    /// Throws `Failure` if the server cannot be started.
    package func newDatabase(from template: DatabaseAddress? = nil) throws -> DatabaseAddress {
        let number = self.lastDatabase.add(1, ordering: .relaxed).newValue
        let original = template?.database ?? "template0"
        return try self.running.withLock { running in
            let cluster = try running ?? self.start()
            running = cluster
            // A copy of the files needs checkpoints. Without a disk, checkpoints cost less than
            // writing all blocks to the write-ahead log.
            try cluster.connection.execute(
                #"create database "test\#(number)" template "\#(original)" strategy file_copy"#
            )
            return try Self.address(cluster.folder, database: "test\(number)")
        }
    }

    /// Makes an empty database. Returns its address in the form of configurations.
    package func newDatabaseText() throws -> String {
        try self.newDatabase().description
    }

    /// Deletes a database, and ends the connections to it.
    package func drop(_ address: DatabaseAddress) throws {
        try self.running.withLock {
            try $0?.connection.execute(#"drop database if exists "\#(address.database)" with (force)"#)
        }
    }

    /// Deletes a database, unless there are connections to it. Returns whether it is deleted.
    package func dropIfUnused(_ address: DatabaseAddress) throws -> Bool {
        let sessions = "select 1::int8 from pg_stat_activity where datname = $1"
        return try self.running.withLock { running in
            guard let connection = running?.connection else { return true }
            guard try connection.query(sessions, address.database).isEmpty else { return false }
            try connection.execute(#"drop database if exists "\#(address.database)" with (force)"#)
            return true
        }
    }

    /// Returns copies of the files that a thief of the server's disk would find about a database.
    /// They are the files of its tables and indexes, with deleted rows, and the write-ahead log of
    /// all databases.
    package func copyFiles(of address: DatabaseAddress) throws -> [(name: String, bytes: Data)] {
        let connection = try BlockingConnection(address)
        try connection.execute("checkpoint")
        let number = try connection.query("select oid::int8 from pg_database where datname = current_database()")
        let data = URL(fileURLWithPath: try connection.query("select current_setting('data_directory')")[0].text(0))
        var files: [(name: String, bytes: Data)] = []
        for folder in ["base/\(try number[0].integer(0))", "pg_wal"].map(data.appendingPathComponent) {
            for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
                let file = folder.appendingPathComponent(name)
                let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
                guard attributes[.type] as? FileAttributeType == .typeRegular else { continue }
                files.append((name: file.path, bytes: try Data(contentsOf: file)))
            }
        }
        return files
    }

    /// Returns a command prefix, such as `setpriv …`, that runs the following command as a user
    /// who may run PostgreSQL. That user becomes the folder's owner.
    package static func stepDown(into folder: TemporaryFolder) throws -> [String] {
        guard geteuid() == 0 else { return ["env"] }
        // PostgreSQL refuses to run as root.
        guard let user = getpwnam("postgres") else {
            throw Failure(description: "there is no user postgres: install the package postgresql-15")
        }
        chown(folder.path, user.pointee.pw_uid, user.pointee.pw_gid)
        return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    }

    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    // MARK: - Private

    /// The script that runs the cluster. It ignores signals. An interrupt at the terminal ends the
    /// tests, and their end then ends the cluster.
    ///
    /// Arguments: the folder of the programs, the cluster's folder, the megabytes of log to keep,
    /// and the command that changes the user.
    private static let script = """
        trap '' INT TERM HUP
        programs=$1 folder=$2 kept=$3
        shift 3
        {
            "$@" "$programs/initdb" -D "$folder/data" -U postgres -A trust -E UTF8 --locale=C --no-sync >"$folder/log" 2>&1 &&
            exec "$@" "$programs/postgres" -D "$folder/data" -k "$folder" -c listen_addresses= -c max_connections=400 \\
                -c max_wal_size=128MB -c wal_keep_size=${kept}MB -c shared_buffers=64MB \\
                -c max_parallel_workers_per_gather=0 -c dynamic_shared_memory_type=mmap \\
                -c autovacuum_naptime=1h >>"$folder/log" 2>&1
        } 3<&- &
        server=$!
        read -r nothing <&3
        while kill -QUIT $server 2>&-; do sleep 0.1; done
        rm -rf "$folder"
        """

    private func start() throws -> Running {
        let programs = try Self.programs()
        let folder = try TemporaryFolder(on: .muchMemory)
        let command = try Self.stepDown(into: folder)
        let script = try TiedScript(Self.script, [programs, folder.path, "\(self.keptLog)"] + command)
        return Running(folder: folder, script: script, connection: try Self.connect(folder))
    }

    /// Waits until the server answers.
    private static func connect(_ folder: TemporaryFolder) throws -> BlockingConnection {
        let address = try Self.address(folder, database: "postgres")
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            do {
                return try BlockingConnection(address)
            } catch {
                guard ContinuousClock.now < deadline else {
                    let log = (try? String(contentsOfFile: folder.file("log"), encoding: .utf8)) ?? ""
                    throw Failure(description: "PostgreSQL did not start: \(error)\n\(log.suffix(2000))")
                }
                usleep(20_000)
            }
        }
    }

    private static func address(_ folder: TemporaryFolder, database: String) throws -> DatabaseAddress {
        try DatabaseAddress("postgres://postgres@/\(database)?host=\(folder.path)")
    }

    /// Returns the folder with the programs of the newest installed PostgreSQL server.
    package static func programs() throws -> String {
        let root = "/usr/lib/postgresql"
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
        let installed = versions.compactMap { Int($0) }.sorted(by: >).map { "\(root)/\($0)/bin" }
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let folders = installed + path.split(separator: ":").map(String.init)
        guard
            let folder = folders.first(where: {
                access("\($0)/initdb", X_OK) == 0 && access("\($0)/postgres", X_OK) == 0
            })
        else {
            throw Failure(
                description: "PostgreSQL's initdb and postgres are missing: install the package postgresql-15"
            )
        }
        return folder
    }
}

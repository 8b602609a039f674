import Foundation
import PostgreSQL
import PushTesting
import Testing

/// PgBouncer in front of the databases of the shared cluster. It ends with this object, or with
/// the test process.
final class Pooler: Sendable {
    private static let script = """
        trap '' INT TERM HUP
        folder=$1
        shift
        "$@" pgbouncer -q "$folder/pgbouncer.ini" >"$folder/output" 2>&1 3<&- &
        pooler=$!
        read -r nothing <&3
        kill -KILL "$pooler"
        rm -rf "$folder"
        """

    private let folder: TemporaryFolder
    private let script: TiedScript
    private let configuration: String

    /// Starts PgBouncer in front of this database's server. `settings` are lines of PgBouncer's
    /// configuration file.
    init(before address: DatabaseAddress, _ settings: String) async throws {
        let server = address.description.split(separator: "@").last?.prefix { $0 != "/" }
        let folder = try TemporaryFolder()
        let configuration = """
            [databases]
            * = host=\(server.flatMap { String($0).removingPercentEncoding } ?? "") user=postgres
            [pgbouncer]
            listen_addr =
            listen_port = 5432
            unix_socket_dir = \(folder.path)
            auth_type = any
            logfile = \(folder.file("log"))
            pidfile = \(folder.file("pid"))
            \(settings)
            """
        try configuration.write(toFile: folder.file("pgbouncer.ini"), atomically: true, encoding: .utf8)
        self.folder = folder
        self.configuration = configuration
        self.script = try TiedScript(Self.script, [folder.path] + PostgreSQLCluster.stepDown(into: folder))
        try await eventually {
            (try? String(contentsOfFile: folder.file("log"), encoding: .utf8))?.contains("process up") == true
        }
    }

    /// Makes PgBouncer read its configuration again, with this change.
    func reload(replacing old: String, with new: String) throws {
        let changed = self.configuration.replacing(old, with: new)
        try changed.write(toFile: self.folder.file("pgbouncer.ini"), atomically: false, encoding: .utf8)
        let number = try String(contentsOfFile: self.folder.file("pid"), encoding: .utf8)
        kill(try #require(pid_t(number.trimmingCharacters(in: .whitespacesAndNewlines))), SIGHUP)
    }

    /// Returns the address of the same database through the pooler.
    func address(of address: DatabaseAddress) throws -> DatabaseAddress {
        try DatabaseAddress("postgres://postgres@/\(address.database)?host=\(self.folder.path)")
    }
}

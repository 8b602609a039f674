import Foundation
import PushPostgreSQL
import PushTesting
import Testing
import Yams

/// Checks `examples/cluster.yaml` as far as possible without Docker: the parts of the file must
/// match each other. The end-to-end program `failover` runs a real cluster from
/// `config/patroni.yaml`.
@Suite(.timeLimit(.minutes(5))) struct ClusterExampleTests {
    private let file: Node

    init() throws {
        self.file = try #require(try Yams.compose(yaml: Repository.text(of: "examples/cluster.yaml")))
    }

    private func names(_ prefix: String) throws -> [String] {
        try #require(self.file["services"]?.mapping).keys.compactMap(\.string).filter { $0.hasPrefix(prefix) }
    }

    private func environment(of service: String) throws -> [String: String] {
        let node = self.file["services"]?[service]
        let environment = node?["environment"] ?? node?["<<"]?["environment"]
        return try #require(environment?.mapping).reduce(into: [:]) { $0[$1.key.string ?? ""] = $1.value.string }
    }

    /// Except for the addresses, the nginx configuration in the example is the file that other
    /// tests run.
    @Test func nginxUsesTheTestedConfiguration() throws {
        let content = try #require(self.file["configs"]?["site"]?["content"]?.string)
        func lines(_ text: String) -> [String] {
            text.split(separator: "\n").map { String($0.replacing(/(^|\s+)#.*/, with: "")) }
                .filter { !$0.allSatisfy(\.isWhitespace) }
        }
        let servers = try self.names("sealpost").map { "    server \($0):8080;" }.joined(separator: "\n")
        #expect(servers.contains("sealpost3"))
        let tried = try Repository.text(of: "config/nginx.conf")
            .replacing(/\ {4}server 127\.0\.0\.1:8080;[^\n]*/, with: servers)
        #expect(lines(content.replacing("$$", with: "$")) == lines(tried))
    }

    @Test func eachServerHasTheAddressOfEachDatabase() throws {
        let databases = try self.names("db")
        for server in try self.names("sealpost") {
            let address = try #require(try self.environment(of: server)["SEALPOST_DATABASE"])
            #expect(address.contains("@\(databases.joined(separator: ","))/"))
            // The file with the password exists only in the container, so the test returns the
            // password itself.
            let place = PostgreSQLPlace(address) { _ in "secret" }
            #expect(place != nil && place?.fault == nil, "\(place?.fault ?? "no address")")
        }
    }

    /// Patroni's configuration leaves some values open. Patroni gets them from the environment of
    /// each database's container.
    @Test func eachDatabaseGetsItsOwnSettings() throws {
        let etcd = try self.names("etcd").map { "\($0):2379" }.joined(separator: ",")
        for database in try self.names("db") {
            let environment = try self.environment(of: database)
            #expect(environment["PATRONI_NAME"] == database)
            #expect(environment["PATRONI_ETCD3_HOSTS"] == etcd)
            #expect(environment["PATRONI_POSTGRESQL_CONNECT_ADDRESS"] == "\(database):5432")
            #expect(environment["PATRONI_RESTAPI_CONNECT_ADDRESS"] == "\(database):8008")
        }
    }
}

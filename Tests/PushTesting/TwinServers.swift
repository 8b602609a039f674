internal import Foundation
package import PostgreSQL

/// Two servers of one cluster that both accept writes. `second` is a promoted copy of `first`,
/// with the next timeline.
///
/// A symbolic link leads clients to one of the servers, like one host name of several servers.
/// Both servers end with this object, or with the test process.
package final class TwinServers: Sendable {
    package enum Name: String {
        case first, second
    }

    private static let script = """
        trap '' INT TERM HUP
        programs=$1 folder=$2
        shift 2
        serve() {
            "$@" "$programs/pg_ctl" -D "$folder/$name" -l "$folder/$name.log" -w -t 60 -s \\
                -o "-k $folder/$name.socket -c listen_addresses= -c shared_buffers=16MB \\
                    -c dynamic_shared_memory_type=mmap" start 3<&-
        }
        "$@" "$programs/initdb" -D "$folder/first" -U postgres -A trust -E UTF8 --locale=C --no-sync >"$folder/log" 2>&1
        "$@" cp -a "$folder/first" "$folder/second"
        "$@" touch "$folder/second/standby.signal"
        "$@" mkdir "$folder/first.socket" "$folder/second.socket"
        name=first serve "$@"
        name=second serve "$@"
        "$@" "$programs/pg_ctl" -D "$folder/second" -w -t 60 -s promote 3<&-
        ln -s "$folder/first.socket" "$folder/socket"
        first=$(head -n 1 "$folder/first/postmaster.pid") second=$(head -n 1 "$folder/second/postmaster.pid")
        touch "$folder/ready"
        read -r nothing <&3
        # By now the folder may be gone.
        kill -QUIT "$first" "$second"
        while kill -0 "$first" 2>&- || kill -0 "$second" 2>&-; do sleep 0.1; done
        rm -rf "$folder"
        """

    private let folder: TemporaryFolder
    private let script: TiedScript

    package init() async throws {
        let folder = try TemporaryFolder(on: .muchMemory)
        let stepDown = try PostgreSQLCluster.stepDown(into: folder)
        self.folder = folder
        self.script = try TiedScript(Self.script, [try PostgreSQLCluster.programs(), folder.path] + stepDown)
        try await eventually { FileManager.default.fileExists(atPath: folder.file("ready")) }
    }

    deinit {
        for name in [Name.first, .second] { self.signal(name, SIGCONT) }
    }

    /// Returns the address of the server to which the link leads.
    package func address() throws -> DatabaseAddress { try Self.address(self.folder.file("socket")) }

    package func address(of name: Name) throws -> DatabaseAddress {
        try Self.address(self.folder.file("\(name).socket"))
    }

    /// Directs new connections to the server `name`.
    package func lead(to name: Name) throws {
        try self.lead(to: self.folder.file("\(name).socket"))
    }

    /// Directs new connections to the sockets in a folder.
    package func lead(to path: String) throws {
        try FileManager.default.createSymbolicLink(atPath: self.folder.file("next"), withDestinationPath: path)
        rename(self.folder.file("next"), self.folder.file("socket"))
    }

    /// Ends the connections of other sessions to a server.
    package func disconnect(_ name: Name) throws {
        _ = try BlockingConnection(self.address(of: name)).query(
            """
            select pg_terminate_backend(pid) from pg_stat_activity
            where backend_type = 'client backend' and pid <> pg_backend_pid()
            """
        )
    }

    /// Sends all processes of a server a signal.
    package func signal(_ name: Name, _ signal: Int32) {
        let path = self.folder.file("\(name)/postmaster.pid")
        guard let text = try? String(contentsOfFile: path, encoding: .utf8),
            let parent = text.split(separator: "\n").first.flatMap({ Int32($0) })
        else { return }
        // The parent gets the signal first, because it starts the other processes.
        kill(parent, signal)
        let children = try? String(contentsOfFile: "/proc/\(parent)/task/\(parent)/children", encoding: .utf8)
        for child in (children ?? "").split(separator: " ") {
            if let id = Int32(child) { kill(id, signal) }
        }
    }

    private static func address(_ folder: String) throws -> DatabaseAddress {
        try DatabaseAddress("postgres://postgres@/postgres?host=\(folder)")
    }
}

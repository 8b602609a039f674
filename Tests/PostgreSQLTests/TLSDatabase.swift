import Foundation
import PostgreSQL
import PushSimulators
import PushTesting

/// A server that accepts only TLS connections, on a free port of 127.0.0.1, with a certificate for
/// `localhost` alone. The user `certified` needs a certificate of the same authority, but the user
/// `postgres` does not.
///
/// It ends with this object, or with the test process.
final class TLSDatabase: Sendable {
    private static let script = """
        trap '' INT TERM HUP
        programs=$1 folder=$2 port=$3
        shift 3
        chown --reference="$folder" "$folder/server.key"
        "$@" "$programs/initdb" -D "$folder/data" -U postgres -A trust -E UTF8 --locale=C --no-sync >"$folder/log" 2>&1
        printf 'hostssl all certified all cert\\nhostssl all all all trust\\n' >"$folder/data/pg_hba.conf"
        printf "%s = '%s'\\n" ssl on ssl_ca_file "$folder/ca.pem" ssl_cert_file "$folder/server.pem" \\
            ssl_key_file "$folder/server.key" >>"$folder/data/postgresql.conf"
        "$@" "$programs/pg_ctl" -D "$folder/data" -l "$folder/server.log" -w -t 60 -s \\
            -o "-k $folder -p $port -c listen_addresses=127.0.0.1 -c shared_buffers=16MB \\
                -c dynamic_shared_memory_type=mmap" start 3<&-
        server=$(head -n 1 "$folder/data/postmaster.pid")
        touch "$folder/ready"
        read -r nothing <&3
        # By now the folder may be gone.
        kill -QUIT "$server"
        while kill -0 "$server" 2>&-; do sleep 0.1; done
        rm -rf "$folder"
        """

    let port: Int
    private let folder: TemporaryFolder
    private let script: TiedScript

    init(_ authority: TestAuthority) async throws {
        let folder = try TemporaryFolder()
        let names = ["DNS:localhost"]
        let content = CertificateContent(commonNames: ["localhost"], usage: .server, alternativeNames: names)
        let identity = try authority.makeIdentity(content)
        try identity.certificate.write(toFile: folder.file("server.pem"), atomically: true, encoding: .utf8)
        try folder.writeSecret(identity.privateKey, to: "server.key")
        try authority.write(to: folder.file("ca.pem"))
        let stepDown = try PostgreSQLCluster.stepDown(into: folder)
        // The held socket is closed at once, so the server can listen on its port.
        self.port = try HeldSocket().port
        self.folder = folder
        let programs = try PostgreSQLCluster.programs()
        self.script = try TiedScript(Self.script, [programs, folder.path, "\(self.port)"] + stepDown)
        try await eventually { FileManager.default.fileExists(atPath: folder.file("ready")) }
    }
}

import Foundation
import PushTesting
import Testing
import Yams

/// Checks `examples/compose.yaml` as far as possible without Docker: its settings must match the
/// image, the executable and nginx.
@Suite(.timeLimit(.minutes(5))) struct ComposeTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "../..")
        .standardized

    private let text: String
    private let file: Node

    init() throws {
        self.text = try Self.text("examples/compose.yaml")
        self.file = try #require(try Yams.compose(yaml: self.text))
    }

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: self.root.appending(path: path), encoding: .utf8)
    }

    private func service(_ name: String) throws -> Node {
        try #require(self.file["services"]?[name])
    }

    /// Returns the source, target and options of each volume of the service `name`.
    private func volumes(of name: String) throws -> [[String]] {
        try #require(try self.service(name)["volumes"]?.array()).map { node in
            try #require(node.string).split(separator: ":").map(String.init)
        }
    }

    /// Except for the address of Sealpost, the nginx configuration in the example is the file that
    /// other tests run.
    @Test func nginxUsesTheTestedConfiguration() throws {
        let content = try #require(self.file["configs"]?["site"]?["content"]?.string)
        let tried = try Self.text("config/nginx.conf").replacing("127.0.0.1:8080", with: "sealpost:8080")
        func lines(_ text: String) -> [String] {
            text.split(separator: "\n").map { String($0.replacing(/(^|\s+)#.*/, with: "")) }
                .filter { !$0.allSatisfy(\.isWhitespace) }
        }
        #expect(lines(content.replacing("$$", with: "$")) == lines(tried))
        let mounted = try self.volumes(of: "nginx").map { $0[1] }
        for target in mounted { #expect(tried.contains(" \(target);"), "\(target) is not read") }
        #expect(mounted.count == tried.matches(of: /\s\/etc\/ssl\/[^;]+;/).count)
    }

    /// The executable must accept the command line and the variables of the example, and listen at
    /// the address to which nginx connects.
    @Test func theServerStartsWithTheSettingsOfTheExample() async throws {
        let service = try self.service("sealpost")
        let variables = try #require(service["environment"]?.mapping).reduce(into: [String: String]()) {
            $0[$1.key.string ?? ""] = $1.value.string
        }
        let subnet = self.file["networks"]?["inside"]?["ipam"]?["config"]?[0]?["subnet"]?.string
        #expect(variables["SEALPOST_SERVER_TRUSTEDPROXIES"] == subnet)
        #expect(variables["SEALPOST_SERVER_LISTEN"] == "0.0.0.0:8080")
        let folder = try TemporaryFolder()
        try Data().write(to: URL(fileURLWithPath: folder.file("sealpost.yaml")))
        let command = try #require(service["command"]?.string).split(separator: " ").map(String.init)
        #expect(command.contains(try #require(try self.volumes(of: "sealpost").last)[1]))
        let settings = variables.merging(["SEALPOST_SERVER_LISTEN": "127.0.0.1:0"]) { $1 }
        let daemon = try await Daemon(
            in: folder,
            arguments: command.dropFirst().map { $0.hasPrefix("/") ? "sealpost.yaml" : $0 },
            settings: Dictionary(
                uniqueKeysWithValues: settings.map { (String($0.key.dropFirst("SEALPOST_".count)), $0.value) }
            )
        )
        let check = try #require(service["healthcheck"]?["test"]?.array()).compactMap(\.string)
        #expect(check.prefix(2) == ["CMD", "sealpost"])
        let health = try await Daemon.run(
            check.dropFirst(2).map { $0.hasPrefix("/") ? "sealpost.yaml" : $0 }
                + ["--address", "127.0.0.1:\(daemon.port)"],
            in: folder
        )
        #expect(health.output == "127.0.0.1:\(daemon.port) is ready\n", "\(health.errors)")
        #expect(await daemon.terminate() == 0)
    }

    /// The Dockerfile declares the target of each named volume. A mounted file must exist in the
    /// repository, or the comment at the top of the example must name it.
    @Test func eachVolumeIsDeclaredOrDescribed() throws {
        let dockerfile = try Self.text("Dockerfile")
        let head =
            self.text.prefix { $0 != "\n" } + self.text.split(separator: "\n").prefix { $0.hasPrefix("#") }.joined()
        for volume in try self.volumes(of: "sealpost") + self.volumes(of: "nginx") {
            if volume[0].hasPrefix("./") {
                #expect(head.contains(volume[0].dropFirst(2)), "\(volume[0]) is not told of")
                #expect(volume.last == "ro")
            } else {
                #expect(self.file["volumes"]?.mapping?.keys.contains(Node(volume[0])) == true)
                #expect(dockerfile.contains("\nVOLUME \(volume[1])\n"))
            }
        }
        #expect(try self.service("sealpost")["build"]?.string == "..")
    }
}

import Foundation
import PushTesting
import Testing

/// What is said in two places and must be the same.
@Suite(.timeLimit(.minutes(5))) struct PackagingTests {
    @Test func theImageIsBuiltWithThePackagesOfTheMakefile() throws {
        let makefile = try Repository.text(of: "Makefile")
        let line = try #require(makefile.firstMatch(of: /(?m)^PACKAGES = (.*)$/)).output.1
        #expect(try Repository.text(of: "Dockerfile").contains("        \(line) \\\n"))
    }

    /// With the image's own setting of the address, but for the port.
    @Test func theHealthCheckOfTheImageFindsTheServer() async throws {
        let dockerfile = try Repository.text(of: "Dockerfile")
        let line = try #require(dockerfile.firstMatch(of: /(?m)^HEALTHCHECK .*CMD (\[.*\])$/)).output.1
        let words = try JSONDecoder().decode([String].self, from: Data(line.utf8))
        #expect(words.first == "sealpost")
        let listen = try #require(dockerfile.firstMatch(of: /SEALPOST_SERVER_LISTEN=0\.0\.0\.0:8080\n/)).output
        let folder = try TemporaryFolder()
        let daemon = try await Daemon(in: folder)
        let address = listen.replacing(/^.*=|\n/, with: "").replacing("8080", with: "\(daemon.port)")
        let ended = try await Daemon.run(
            Array(words.dropFirst()),
            in: folder,
            environment: ["SEALPOST_SERVER_LISTEN": String(address)]
        )
        #expect(ended.code == 0, "\(ended.errors)")
        #expect(await daemon.terminate() == 0)
    }

    @Test func theReadmeNamesTheTwoCommands() throws {
        let readme = try Repository.text(of: "README.md")
        for command in ["make demo", "make test"] { #expect(readme.contains("```bash\n\(command)\n```")) }
    }
}

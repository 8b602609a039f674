import Foundation
import PushTesting
import Testing

/// Facts that two files of the repository state, and that must agree.
@Suite(.timeLimit(.minutes(5))) struct ConsistencyTests {
    @Test func theImageIsBuiltWithThePackagesOfTheMakefile() throws {
        let makefile = try Repository.text(of: "Makefile")
        let line = try #require(makefile.firstMatch(of: /(?m)^PACKAGES = (.*)$/)).output.1
        #expect(try Repository.text(of: "Dockerfile").contains("        \(line) \\\n"))
    }

    /// The manual is made from the command line's own definitions, so that no command can be
    /// missing.
    @Test func theManualListsAllCommandsAndThoseThatAskTheServer() async throws {
        let made = try await Scripts.start("make-manual", ["command", Daemon.executable]).end()
        #expect(made.code == 0, "\(made.errors)")
        let beside = try #require(made.output.firstMatch(of: /root may use the commands\n\.BR (.*) ;\n/)).output.1
        #expect(
            beside
                == #"user ", " token ", " audit ", " status ", " deliveries ", " why ", " send ", " keys " and " backup"#
        )
        let help = try await Daemon.run(["--help"], in: TemporaryFolder()).output
        let names = help.matches(of: #/(?m)^  ([a-z][a-z-]+)  /#).map { String($0.output.1) }
        #expect(names.count > 12, "\(help)")
        for name in names + ["user tags", "user code", "keys rotate"] {
            let heading = "\n.SS sealpost \(name.replacing("-", with: #"\-"#))"
            #expect(made.output.contains("\(heading) ") || made.output.contains("\(heading)\n"), "\(name)")
        }
    }

    /// The daemon does not contain the simulators' HTTP/2 server, and the demonstration does not
    /// contain PostgreSQL.
    @Test func eachExecutableLinksOnlyTheLibrariesItUses() throws {
        func links(_ executable: String, _ library: String) throws -> Bool {
            // An executable contains the names of its libraries as text.
            let program = try Data(contentsOf: URL(fileURLWithPath: executable), options: .alwaysMapped)
            return program.range(of: Data(library.utf8)) != nil
        }
        #expect(try links(Daemon.executable, "libpq.so") && !links(Daemon.executable, "libnghttp2.so"))
        #expect(try links(Daemon.demo, "libnghttp2.so") && !links(Daemon.demo, "libpq.so"))
    }

    /// Runs the image's health check with the address that the image sets, but with another port.
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

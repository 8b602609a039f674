import Foundation
import PushTesting
import Testing

/// Tests that the libraries of apps use no interface newer than the oldest supported systems, as
/// far as a machine with Linux can tell.
@Suite(.timeLimit(.minutes(5))) struct AvailabilityTests {
    /// As a control, the test must find newer interfaces if it compares the libraries with still
    /// older systems.
    @Test func theLibrariesUseOnlyAPIsOfTheOldestSystems() async throws {
        let ended = try await AppleScript.run("apple-availability", ["iOS=15.0", "macOS=12.0"])
        #expect(ended.code == 0, "\(ended.output)\(ended.errors)")
        let newer = ended.output.split(separator: "\n").filter { $0.hasPrefix("control: ") }
        // URL.appending(path:) needs iOS 16.
        let words = "URL.appending(path:directoryHint:), which PushClient uses, is in iOS from 16"
        #expect(newer.contains { $0.contains(words) })
        let manifest = try Repository.text(of: "Package.swift")
        let platforms = try #require(manifest.firstMatch(of: /platforms: \[(.+)\],\n/)?.output.1)
        let oldest = platforms.matches(of: /\.(\w+)\(\.v(\d+)\)/).map { "\($0.output.1) \($0.output.2).0" }.sorted()
        #expect(oldest.count == 5)
        #expect(ended.output.contains(" are in \(oldest.joined(separator: ", "))\n"))
    }

    /// The portable tests import no module of the server or of Linux, so that a Mac can run them,
    /// as `.github/workflows/apple.yml` does.
    @Test func portableTestsImportOnlyModulesThatAppsHave() throws {
        let known: Set = [
            "ClientPeers", "CryptoKit", "Cryptography", "Foundation", "FoundationNetworking", "HTTPSignatures",
            "PushAPI", "PushClient",
            "PushClientTesting", "Testing",
        ]
        var count = 0
        for folder in ["Tests/ClientPeers", "Tests/PortableClientTests", "Sources/PushClientTesting"] {
            for name in try FileManager.default.contentsOfDirectory(atPath: Repository.file(folder).path) {
                let text = try Repository.text(of: "\(folder)/\(name)")
                for line in text.matches(of: /(?m)^ *(?:@testable )?(?:package |internal |public )?import (\w+)/) {
                    #expect(known.contains(String(line.output.1)), "\(folder)/\(name)")
                    count += 1
                }
                // An import that only Linux has must be behind a condition for Linux.
                let isGuarded = text.contains("#if canImport(FoundationNetworking)\n")
                #expect(isGuarded == text.contains("import FoundationNetworking"), "\(folder)/\(name)")
            }
        }
        #expect(count > 50)
        let workflow = try Repository.text(of: ".github/workflows/apple.yml")
        #expect(workflow.contains("- run: swift test --filter PortableClientTests\n"))
    }

    /// On a Mac, the package has no target that compiles only on Linux.
    @Test func aMacSeesOnlyTheClientTargetsOfThePackage() async throws {
        // SwiftPM gets a folder of its own, because the process that runs this test holds the lock
        // of the usual folder.
        let folder = try TemporaryFolder()
        var environment = ProcessInfo.processInfo.environment.filter { ["PATH", "HOME", "TMPDIR"].contains($0.key) }
        environment["SEALPOST_CLIENT_ONLY"] = "1"
        let ended = try await ChildProcess(
            "/usr/bin/env",
            ["swift", "package", "--scratch-path", folder.path, "dump-package"],
            in: Repository.root.path,
            environment: environment
        ).end()
        #expect(ended.code == 0, "\(ended.errors)")
        let json = try #require(try JSONSerialization.jsonObject(with: Data(ended.output.utf8)) as? [String: Any])
        let targets = try #require(json["targets"] as? [[String: Any]])
        let names = Set(targets.compactMap { $0["name"] as? String })
        #expect(names.isSuperset(of: ["PortableClientTests", "PushClient", "PushClientTesting"]))
        #expect(names.isDisjoint(with: ["PushServer", "PushTesting", "Reactor", "sealpost"]))
        for target in targets {
            let dependencies = (target["dependencies"] as? [[String: Any]] ?? []).compactMap { dependency in
                (dependency["byName"] as? [Any])?.first as? String
            }
            #expect(names.isSuperset(of: dependencies), "\(target["name"] ?? "")")
        }
    }

    /// All dependencies on other packages belong to the trait `Server`, which apps do not enable.
    @Test func appsResolveNoOtherPackage() throws {
        let manifest = try Repository.text(of: "Package.swift")
        let direct = manifest.matches(of: #/\.product\(name: "\w+", package: "([^"]+)"\)/#).map { String($0.output.1) }
        #expect(direct.isEmpty)
        #expect(manifest.contains(".product(name: product, package: package, condition: .when(traits: [\"Server\"]))"))
    }
}

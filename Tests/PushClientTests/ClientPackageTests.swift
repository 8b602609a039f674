import Foundation
import PushTesting
import Testing

/// Tests the package for apps, `Clients/swift`. `scripts/client-package` also builds it, in `make
/// e2e`.
@Suite(.timeLimit(.minutes(15))) struct ClientPackageTests {
    @Test func anAppWithOtherVersionsOfTheServersDependenciesResolves() async throws {
        let ended = try await ChildProcess(
            Repository.file("scripts/client-package").path,
            ["--resolve"],
            in: Repository.root.path,
            environment: ProcessInfo.processInfo.environment.filter { ["PATH", "HOME", "TMPDIR"].contains($0.key) }
        ).end()
        #expect(ended.code == 0, "\(ended.errors)")
        #expect(ended.output.contains("sealpost-client\n"))
        #expect(ended.errors.contains("swift-log at 99.0.0"))
    }

    @Test func bothManifestsNameTheSameSystemsAndTargets() throws {
        let own = try Repository.text(of: "Clients/swift/Package.swift")
        let whole = try Repository.text(of: "Package.swift")
        let systems = try #require(own.firstMatch(of: /platforms: \[.+\],\n/)?.output)
        #expect(whole.contains(systems))
        #expect(!own.contains(".package("))
        let folder = Repository.file("Clients/swift/Sources").path
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            let target = try FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)")
            #expect(target == "../../../Sources/\(name)")
            #expect(own.contains("\"\(name)\""))
        }
    }
}

import Foundation
import PushTesting
import Testing

/// Short runs of the end-to-end programs that `make e2e` runs completely.
@Suite(.timeLimit(.minutes(15))) struct EndToEndProgramTests {
    @Test(arguments: ["nginx", "haproxy"])
    func noRequestFailsWhileTheDaemonIsRestarted(proxy: String) async throws {
        let script = try Scripts.run("restarts", [Daemon.executable, "--count", "5", "--proxy", proxy])
        let ended = await script.end()
        #expect(ended.code == 0, "\(ended.output)\(ended.errors)")
        #expect(ended.output.hasPrefix("5 restarts behind \(proxy) in "))
    }

    @Test func secretsAppearOnlyWhereTheyBelong() async throws {
        let script = try Scripts.run("canaries", [Daemon.executable])
        let ended = await script.end()
        #expect(ended.code == 0, "\(ended.output)\(ended.errors)")
    }

    @Test func theAPIDocumentIsUpToDate() async throws {
        let ended = try await Scripts.start("make-openapi", ["--check"]).end()
        #expect(ended.code == 0, "\(ended.output)\(ended.errors)")
    }

    @Test func theConfigurationPageIsUpToDate() async throws {
        let ended = try await Scripts.start("make-configuration-page", ["--check"]).end()
        #expect(ended.code == 0, "\(ended.output)\(ended.errors)")
    }

    @Test func thePlotsShowTheFiguresOfTheDocumentation() async throws {
        let ended = try await Scripts.start("make-plots", ["--check"]).end()
        #expect(ended.code == 0, "\(ended.output)\(ended.errors)")
    }

    @Test func allRequestsOfForeignClientsSucceed() async throws {
        let ended = try await Scripts.run("clients", [Daemon.executable, "--quick"]).end()
        #expect(ended.code == 0, "\(ended.output)\(ended.errors)")
    }
}

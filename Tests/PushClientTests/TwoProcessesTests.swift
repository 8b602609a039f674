import ClientPeers
import Foundation
import PushTesting
import Testing

/// Two processes share one folder. They are killed and suspended at any moment, and their server
/// loses answers and forgets cursors. Nothing may be lost or duplicated, no date may be wrong, and
/// the cursor must match the inbox.
///
/// `SEALPOST_TEST_STEPS=10000` sets the number of recorded steps after which the test ends; the
/// default is 150.
@Suite(.timeLimit(.minutes(30))) struct TwoProcessesTests {
    private static let wanted = ProcessInfo.processInfo.environment["SEALPOST_TEST_STEPS"].flatMap { Int($0) } ?? 150

    @Test func twoProcessesThatAreKilledLoseAndDoubleNothing() async throws {
        let server = ModelServer()
        let folder = try TemporaryFolder()
        server.change { state in for number in 0..<20 { state.add("first \(number)", lasting: 3600) } }
        try await ScriptedPeer.run(server.script) { peer in
            var processes = TwoProcesses(server: server, url: peer.url, folder: folder)
            while processes.steps < Self.wanted {
                server.change { $0.isTurbulent = true }
                try await processes.round()
                server.change { $0.isTurbulent = false }
                try processes.check()
            }
            try await processes.end()
            print("\(processes.steps) steps of two processes, \(processes.kills) kills: nothing was lost or doubled")
        }
    }
}

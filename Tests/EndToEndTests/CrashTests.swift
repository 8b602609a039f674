import Foundation
import PushCore
import PushSimulators
import PushTesting
import Synchronization
import Testing

@testable import sealpost_demo

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// No acknowledged notification is lost, whatever happens to the process.
@Suite(.timeLimit(.minutes(5))) struct CrashTests {
    private let handle = String(repeating: "cd", count: 32)

    /// Kills the daemon several times during a series of posts, and then fetches every
    /// notification whose post the daemon had confirmed.
    @Test func afterKillsEachAcknowledgedNotificationIsThereAndIsPushed() async throws {
        let folder = try TemporaryFolder()
        let providers = try Providers(folder: folder.path)
        try providers.yaml.write(toFile: folder.file("sealpost.yaml"), atomically: true, encoding: .utf8)
        let made = try await Daemon.run(
            ["user", "add", "alice", "--password-stdin"],
            in: folder,
            input: Stack.password
        )
        #expect(made.code == 0)
        try await providers.whileRunning {
            let acknowledged = Ledger()
            for round in 0..<4 {
                let daemon = try await Daemon(in: folder, arguments: ["--config", "sealpost.yaml"])
                if round == 0 { try await self.register(daemon) }
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for poster in 0..<8 {
                        group.addTask { await self.post("\(round)-\(poster)", daemon, acknowledged) }
                    }
                    // The kill comes after forty more posts were answered, while others are in
                    // flight.
                    let enough = acknowledged.payloads.count + 40
                    try await eventually { acknowledged.payloads.count >= enough }
                    await daemon.kill()
                    try await group.waitForAll()
                }
            }
            let daemon = try await Daemon(in: folder, arguments: ["--config", "sealpost.yaml"])
            let expected = acknowledged.payloads
            #expect(expected.count >= 160)
            for (id, payload) in expected {
                let (data, _) = try await URLSession.shared.data(for: self.request(daemon, "GET", "/\(id)"))
                #expect(String(decoding: data, as: UTF8.self).contains("\"Payload\":\"\(payload)\""))
            }
            try await self.expectPushes(of: Set(expected.keys), at: providers)
            #expect(await daemon.terminate() == 0)
        }
    }

    // MARK: - Steps

    /// Waits until each id has arrived at the provider at least once. If the provider's answer was
    /// lost, the server sends the push again when the time for an answer (the push's lease) is
    /// over.
    private func expectPushes(of ids: Set<Int64>, at providers: Providers) async throws {
        var missing = ids
        var number = 0
        let deadline = ContinuousClock.now + .seconds(60)
        while !missing.isEmpty {
            number += 1
            let push = try await providers.apns.pushes.acceptedPush(number, within: deadline - .now)
            let json = try JSONSerialization.jsonObject(with: Data(push.request.body)) as? [String: Any]
            missing.remove(try #require((json?["secureId"] as? String).flatMap { Int64($0) }))
        }
    }

    private func register(_ daemon: Daemon) async throws {
        var issue = try self.request(daemon, "POST", "")
        issue.url = URL(string: "/api/register", relativeTo: try daemon.server)
        let quoted = String(decoding: try await URLSession.shared.data(for: issue).0, as: UTF8.self)
        var request = try self.request(daemon, "PUT", "")
        request.url = URL(string: "/api/register/\(quoted.dropFirst().dropLast())", relativeTo: try daemon.server)
        request.httpBody = Data(#"{"Platform":"apns","Handle":"\#(self.handle)"}"#.utf8)
        let (_, response) = try await URLSession.shared.data(for: request)
        #expect((response as? HTTPURLResponse)?.statusCode == 200)
    }

    /// Posts until the connection breaks, and records in `acknowledged` the posts that the server
    /// confirmed.
    private func post(_ name: String, _ daemon: Daemon, _ acknowledged: Ledger) async {
        for number in 0... {
            let payload = "\(name)-\(number)"
            do {
                var request = try self.request(daemon, "POST", "")
                request.httpBody = Data("\"\(payload)\"".utf8)
                let (data, response) = try await URLSession.shared.data(for: request)
                guard (response as? HTTPURLResponse)?.statusCode == 200 else { return }
                let json = try JSONSerialization.jsonObject(with: data) as? [String: Any]
                guard let id = json?["Id"] as? Int else { return }
                acknowledged.add(payload, as: Int64(id))
            } catch {
                return
            }
        }
    }

    private func request(_ daemon: Daemon, _ method: String, _ path: String) throws -> URLRequest {
        let url = try #require(URL(string: "/api/notifications\(path)", relativeTo: daemon.server))
        var request = URLRequest(url: url)
        request.httpMethod = method
        let credentials = Data("alice:\(Stack.password)".utf8).base64EncodedString()
        request.setValue("Basic \(credentials)", forHTTPHeaderField: "Authorization")
        return request
    }
}

/// The posts that the server has confirmed, recorded outside of the server.
private final class Ledger: Sendable {
    private let entries = Mutex<[Int64: String]>([:])

    var payloads: [Int64: String] { self.entries.withLock { $0 } }

    func add(_ payload: String, as id: Int64) {
        self.entries.withLock { $0[id] = payload }
    }
}

import Foundation
import PushTesting
import Synchronization
import Testing

@testable import PushApplication

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A client repeats a post to which it got no answer. With an `Idempotency-Key`, the post is
/// stored only once.
@Suite(.timeLimit(.minutes(5))) struct IdempotencyCrashTests {
    private static let rounds = 4
    private static let posters = 8

    /// Sends each post again after a kill, whether it was answered or not.
    @Test func aPostRepeatedAfterAKillIsStoredOnce() async throws {
        let folder = try TemporaryFolder()
        let made = try await Daemon.run(
            ["user", "add", "alice", "--role", "admin", "--password-stdin"],
            in: folder,
            input: Stack.password
        )
        #expect(made.code == 0)
        let sent = SentPosts()
        for round in 0..<Self.rounds {
            let daemon = try await Daemon(in: folder)
            if round == 0 { try await self.register(daemon) }
            try await self.repeatAll(sent, daemon)
            let enough = sent.answered + 40
            await withTaskGroup(of: Void.self) { group in
                for poster in 0..<Self.posters {
                    group.addTask { await self.post("\(round)-\(poster)", daemon, sent, until: enough) }
                }
            }
            await daemon.kill()
        }
        let daemon = try await Daemon(in: folder)
        try await self.repeatAll(sent, daemon)
        let posts = sent.all
        #expect(posts.count >= Self.rounds * 40)
        #expect(posts.values.allSatisfy { $0 != nil })
        #expect(Set(posts.values).count == posts.count, "no two have one answer")
        let metrics = try await self.send("GET", "/metrics", daemon)
        let pushes = metrics.body.firstMatch(of: /sealpost_deliveries_total\{lane="stream",state="enqueued"\} (\d+)/)
        #expect(pushes.flatMap { Int($0.output.1) } == posts.count, "one for each")
        #expect(await daemon.terminate() == 0)
    }

    // MARK: - Steps

    private func register(_ daemon: Daemon) async throws {
        let id = try await self.send("POST", "/api/register", daemon).body.dropFirst().dropLast()
        let answer = try await self.send("PUT", "/api/register/\(id)", daemon, body: #"{"Platform":"stream"}"#)
        #expect(answer.status == 200)
    }

    /// Posts until the connection breaks. When all clients together have `enough` answers, kills
    /// the daemon while other clients post.
    private func post(_ name: String, _ daemon: Daemon, _ sent: SentPosts, until enough: Int) async {
        for number in 0... {
            if sent.answered >= enough { daemon.process.signal(SIGKILL) }
            let payload = "\(name)-\(number)"
            sent.begin(payload)
            // A missing answer is expected: the daemon was killed.
            guard let answer = try? await self.post(payload, daemon), answer.status == 200 else { return }
            sent.end(payload, answer.body)
        }
    }

    private func repeatAll(_ sent: SentPosts, _ daemon: Daemon) async throws {
        for (payload, first) in sent.all {
            let answer = try await self.post(payload, daemon)
            #expect(answer.status == 200)
            if let first { #expect(answer.body == first) }
            sent.end(payload, answer.body)
        }
    }

    private func post(_ payload: String, _ daemon: Daemon) async throws -> (status: Int, body: String) {
        try await self.send("POST", "/api/notifications", daemon, key: payload, body: "\"\(payload)\"")
    }

    private func send(
        _ method: String,
        _ path: String,
        _ daemon: Daemon,
        key: String? = nil,
        body: String? = nil
    ) async throws -> (status: Int, body: String) {
        var request = URLRequest(url: try #require(URL(string: path, relativeTo: daemon.server)))
        request.httpMethod = method
        request.httpBody = body.map { Data($0.utf8) }
        let credentials = Data("alice:\(Stack.password)".utf8).base64EncodedString()
        request.setValue("Basic \(credentials)", forHTTPHeaderField: "Authorization")
        if let key { request.setValue("\"\(key)\"", forHTTPHeaderField: "Idempotency-Key") }
        let (data, response) = try await URLSession.shared.data(for: request)
        return ((response as? HTTPURLResponse)?.statusCode ?? 0, String(decoding: data, as: UTF8.self))
    }
}

/// The answers to posts, by payload; `nil` for a post without an answer. The test records them
/// outside of the server.
private final class SentPosts: Sendable {
    private let posts = Mutex<[String: String?]>([:])

    var all: [String: String?] { self.posts.withLock { $0 } }

    var answered: Int { self.posts.withLock { $0.values.count { $0 != nil } } }

    func begin(_ payload: String) {
        self.posts.withLock { $0[payload] = .some(nil) }
    }

    func end(_ payload: String, _ answer: String) {
        self.posts.withLock { $0[payload] = answer }
    }
}

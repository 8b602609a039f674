import Crypto
import Foundation
import HTTPSignatures
import PushAPI
import PushTesting
import Testing

@testable import PushClient

/// Two processes over one folder, killed at any moment, with a server that loses answers and forgets cursors: nothing is lost,
/// nothing is there twice, no date is wrong, and cursor and inbox agree.
///
/// `SEALPOST_TEST_STEPS=10000` takes that many steps; without it there are some hundred.
@Suite(.timeLimit(.minutes(30))) struct TwoProcessesTests {
    private static let wanted = ProcessInfo.processInfo.environment["SEALPOST_TEST_STEPS"].flatMap { Int($0) } ?? 300
    private static let names = ["app", "extension"]

    @Test func twoProcessesThatAreKilledLoseAndDoubleNothing() async throws {
        let server = ModelServer()
        let folder = try TemporaryFolder()
        server.change { state in for number in 0..<20 { state.add("first \(number)", lasting: 3600) } }
        try await ScriptedPeer.run(server.script) { peer in
            var (steps, kills) = (0, 0)
            while steps < Self.wanted {
                server.change { $0.loses = true }
                let ended = try await Self.round(server, peer.url, folder)
                for process in ended {
                    #expect(process.code == 128 + SIGKILL, "\(process.errors)")
                    steps += process.output.split(separator: "\n").count { $0 == "step" }
                }
                kills += ended.count
                try #require(ended.allSatisfy { $0.code == 128 + SIGKILL })
                server.change { $0.loses = false }
                try Self.check(server, peer.url, folder)
            }
            try await Self.end(server, peer.url, folder)
            print("\(steps) steps of two processes, \(kills) kills: nothing was lost or doubled")
        }
    }

    // MARK: - Rounds

    private struct Killed: Sendable {
        let code: Int32
        let output: String
        let errors: String
    }

    /// Both run while things happen at the server, and are killed.
    private static func round(
        _ server: ModelServer,
        _ url: URL,
        _ folder: TemporaryFolder
    ) async throws -> [Killed] {
        try await withThrowingTaskGroup(of: Killed.self) { group in
            for name in Self.names {
                let process = try Self.start(name, server, url, folder)
                group.addTask {
                    // It says so when its client is there.
                    var output = await process.output(until: "step\n")
                    let end = ContinuousClock.now + .milliseconds(Int.random(in: 100...2500))
                    while ContinuousClock.now < end {
                        server.change { Self.happen(&$0) }
                        try await Task.sleep(for: .milliseconds(Int.random(in: 0...20)))
                    }
                    process.signal(SIGKILL)
                    let ended = await process.end()
                    output += ended.output
                    return Killed(code: ended.code, output: output, errors: ended.errors)
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    private static func start(
        _ name: String,
        _ server: ModelServer,
        _ url: URL,
        _ folder: TemporaryFolder
    ) throws -> ChildProcess {
        let key = server.key.publicKey.base64URL
        let seed = UInt64.random(in: 0 ... .max)
        return try ChildProcess.clientProgram(["work", url.absoluteString, key, folder.path, name, "\(seed)"])
    }

    private static func happen(_ state: inout ModelServer.State) {
        let ids = state.liveIDs
        let what = Int.random(in: 0..<8)
        guard let id = ids.randomElement(), ids.count >= 30, ids.count >= 45 || what >= 4 else {
            // Some end soon.
            state.add("text \(UInt64.random(in: 0 ... .max))", lasting: Bool.random() ? 3600 : .random(in: 1...4))
            return
        }
        state.change(id) { entry in if what < 7 { entry.isDeleted = true } else { entry.isRead.toggle() } }
    }

    // MARK: - Checks

    private static func client(_ server: ModelServer, _ url: URL, _ folder: TemporaryFolder) -> PushClient {
        PushClient(
            server: url,
            credentials: .token("t", account: "alice"),
            options: .init(signatureKeys: [server.key.publicKey]),
            store: .folder(URL(fileURLWithPath: folder.file("store")), key: SymmetricKey(data: Data(count: 32)))
        )
    }

    /// What holds whenever the processes are killed.
    private static func check(_ server: ModelServer, _ url: URL, _ folder: TemporaryFolder) throws {
        let account = Self.client(server, url, folder).records.account
        let index = try account.read().index
        let kept = try Dictionary(
            uniqueKeysWithValues: index.names.map { ($0.id, try #require(try account.item($0), "no content")) }
        )
        guard let cursor = index.cursor else { return }
        let version = ModelServer.version(of: cursor)
        server.change { state in
            for (id, known) in state.entries {
                let isOfPage = known.version <= version
                let isOfDate = index.completeAt.map { known.changedAt < $0 } ?? false
                #expect(!isOfDate || isOfPage, "a wrong date: \(id)")
                // Signatures tell whole seconds.
                let isOver = index.completeAt.map { known.expiresAt < $0 - 1 } ?? false
                let item = kept[id]?.item
                if isOfPage, known.isDeleted || isOver { #expect(item == nil, "not deleted: \(id)") }
                // One that ends soon may have been deleted by the server's time.
                if isOfPage, !known.isDeleted, known.expiresAt > Date() {
                    #expect(item != nil, "lost: \(id) at \(cursor)")
                }
                if isOfDate, let item { #expect(item.isRead == known.isRead && item.payload?.text == known.payload) }
            }
            for id in kept.keys { #expect(state.entries[id] != nil, "invented: \(id)") }
        }
    }

    /// With a good network everything arrives, once.
    private static func end(_ server: ModelServer, _ url: URL, _ folder: TemporaryFolder) async throws {
        let client = Self.client(server, url, folder)
        #expect(try await client.refresh().date == nil)
        // What has just ended has ended for all.
        try await Task.sleep(for: .seconds(5))
        let inbox = try await client.refresh()
        #expect(inbox.date == nil)
        try Self.check(server, url, folder)
        let live = server.change { state in Set(state.liveIDs) }
        #expect(Set(inbox.value.notifications.map(\.id)) == live)
        #expect(inbox.value.notifications.count == live.count)
        for name in Self.names {
            // What a consumer has shown, with the changes that it has not taken yet, is what there is.
            let changes = try await client.changes(for: name)
            let file = URL(fileURLWithPath: folder.file("shown-\(name)"))
            // A process that was killed early has shown nothing.
            let text = changes.isEverything ? "" : (try? String(contentsOf: file, encoding: .utf8)) ?? ""
            let shown = Set(text.split(separator: "\n").compactMap { Int64($0) })
            #expect(shown.subtracting(changes.deleted).union(changes.arrived) == live, "what \(name) shows")
        }
        let account = client.records.account
        try account.sweep()
        #expect(account.store.leftovers(in: account.folder).count == live.count, "no file is left behind")
    }
}

extension ChildProcess {
    /// `Tests/ClientProgram`, which is built beside the tests.
    static func clientProgram(_ arguments: [String]) throws -> ChildProcess {
        let build = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        return try ChildProcess(build.appending(path: "ClientProgram").path, arguments, in: Repository.root.path)
    }
}

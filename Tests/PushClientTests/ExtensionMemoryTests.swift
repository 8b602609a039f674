import ClientPeers
import Cryptography
import Foundation
import PushAPI
import PushTesting
import Testing

@testable import PushClient

/// Tests how much memory an extension's fetch needs, with many cached notifications and large
/// answers of captive portals, and how much time it needs for an end-to-end payload.
///
/// `SEALPOST_TEST_CACHED=5000` keeps that many notifications of 4 KiB. Without this variable,
/// there are fewer and larger notifications. In both cases, the store contains twice the memory
/// limit, so a fetch that reads all of it fails.
@Suite(.timeLimit(.minutes(5))) struct ExtensionMemoryTests {
    private static let count = ProcessInfo.processInfo.environment["SEALPOST_TEST_CACHED"].flatMap { Int($0) } ?? 256
    /// The limit in KiB.
    private static let bound = 8 << 10
    /// The limit of an end-to-end payload's processor time, in key agreements, so that the speed
    /// of the machine has no influence. It is 50 ms where a key agreement takes 65 µs, as on the
    /// build machine. With 5,000 cached notifications a debug build needs more, because it reads
    /// the index slowly.
    private static let maximumAgreements = 770.0
    private static let payload = String(repeating: "x", count: 4096)
    private static let cachedPayload = String(repeating: "x", count: max(4096, (bound << 11) / count))
    private static let flood = [UInt8](repeating: UInt8(ascii: " "), count: 64 << 20)

    /// A server's answer, and the outcome of the extension's fetch.
    private struct Case {
        let name: String
        var command = "fetch"
        /// Further arguments of the command.
        var arguments: [String] = []
        let outcome: String
        let script: ScriptedPeer.Script
    }

    private static let cases = [
        Case(name: "the server", outcome: "fresh") { request, _ in
            .answer(PeerAnswer(to: request, body: Samples.item(7, Self.payload)))
        },
        Case(name: "no network", outcome: "cached") { _, _ in .hangUp },
        Case(name: "a portal with 64 MiB", outcome: "cached") { _, _ in
            var answer = PeerAnswer()
            answer.body = Self.flood
            return .answer(answer)
        },
        Case(name: "a portal with 64 MiB in chunks", outcome: "cached") { _, _ in
            var answer = PeerAnswer()
            answer.body = Self.flood
            answer.framing = .chunked(isEnded: true)
            return .answer(answer)
        },
        Case(name: "a portal with 64 MiB and the right echo", outcome: "cached") { request, _ in
            var answer = PeerAnswer(to: request)
            answer.body = Self.flood
            return .answer(answer)
        },
        Case(name: "a portal with 64 MiB in chunks and the right echo", outcome: "cached") { request, _ in
            var answer = PeerAnswer(to: request)
            answer.body = Self.flood
            answer.framing = .chunked(isEnded: true)
            return .answer(answer)
        },
        // The badge is `count`, because the cache has one notification fewer, and the fetch adds
        // one.
        Case(name: "the server, for a notification with a badge", command: "show", outcome: "4096 \(Self.count)") {
            request,
            _ in
            let item = Samples.item(7, Self.payload)
            let body = request.query.isEmpty ? item : Samples.list([item], cursor: "c")
            return .answer(PeerAnswer(to: request, body: body))
        },
        // This case is the last, because it removes the notification.
        Case(name: "the server, which has it no more", outcome: "404") { request, _ in
            .answer(PeerAnswer(to: request, .notFound))
        },
    ]

    /// A payload of 5,000 bytes, with the wrapped keys of two more devices.
    private static func endToEnd() throws -> Case {
        let vectors = try EndToEndVectors()
        let stored = try vectors.keys("phone").stored
        let now = Int(vectors.now.timeIntervalSince1970)
        let payload = try VectorFile("end-to-end").list("payloads")[4].text("payload")
        return Case(
            name: "the server, with an end-to-end payload",
            command: "open",
            arguments: [stored.base64EncodedString(), vectors.sender, "\(now)"],
            outcome: "5002"
        ) { request, _ in
            .answer(PeerAnswer(to: request, body: Samples.item(7, payload)))
        }
    }

    @Test func aFetchTakesNoMoreThanEightMebibytes() async throws {
        let nothing = try await Self.memory(ChildProcess.clientProgram(["nothing"]).end())
        let folder = try TemporaryFolder()
        try await ScriptedPeer.run({ _, _ in .hangUp }) { peer in
            let account = try Self.filled(folder, peer.url)
            // The first limit is the one that the guide recommends for extensions, and the second
            // is the default.
            for answerLimit in [256 << 10, PushClient.Options(testing: []).answerLimit] {
                try account.change { $0.put(Self.cachedItem(7, Self.payload)) }
                #expect(try account.read().index.entries.count == Self.count)
                for sample in [try Self.endToEnd()] + Self.cases {
                    peer.play(sample.script)
                    let arguments = [sample.command, peer.url.absoluteString, folder.path, "7", "\(answerLimit)"]
                    let ended = try await ChildProcess.clientProgram(arguments + sample.arguments).end()
                    let memory = try Self.memory(ended)
                    let lines = ended.output.split(separator: "\n").map(String.init)
                    let outcome = lines.first
                    #expect(outcome == sample.outcome, "\(sample.name), \(answerLimit)")
                    #expect(memory - nothing <= Self.bound, "\(sample.name), \(answerLimit)")
                    print(
                        "\(sample.name): \(memory - nothing) KiB above the empty process, with \(Self.count) cached and \(answerLimit) bytes taken"
                    )
                    guard lines.count == 4, let time = Double(lines[1]), let agreements = Double(lines[2]) else {
                        continue
                    }
                    let maximum = Self.count <= 256 ? agreements / 100 * Self.maximumAgreements : .infinity
                    #expect(time <= maximum, "\(sample.name), \(answerLimit)")
                    print("\(sample.name): \(time) ms of the processor; 100 key agreements take \(agreements) ms")
                }
            }
        }
    }

    /// Fills the folder as the app would, except for the notification that the extension fetches.
    private static func filled(_ folder: TemporaryFolder, _ url: URL) throws -> Account {
        let store = PushClient.Store.folder(URL(fileURLWithPath: folder.path), key: SymmetricKey(data: Data(count: 32)))
        let server = try #require(Endpoint(url, signatureKeys: [])).name
        let account = Records(store, server: server, account: "user:alice", isSigned: false).account
        try account.change { draft in
            for id in 1..<Int64(Self.count) { draft.put(Self.cachedItem(id << 30, Self.cachedPayload)) }
            draft.index.cursor = "c"
            draft.index.syncedAt = .now
        }
        return account
    }

    private static func cachedItem(_ id: Int64, _ payload: String) -> CachedItem {
        let item = NotificationItem(
            id: id,
            payload: .string(payload),
            isRead: false,
            createdAt: .now,
            expiresAt: .now + 86400
        )
        return CachedItem(item, date: .now)
    }

    private static func memory(_ ended: ChildProcess.Ended) throws -> Int {
        let line = try #require(ended.output.split(separator: "\n").last, "\(ended.errors)")
        return try #require(Int(line), "\(line)")
    }
}

import ClientPeers
import Foundation
import HTTPSignatures
import PushAPI
import Testing

@testable import PushClient

#if canImport(CryptoKit)
    import CryptoKit
#else
    import Cryptography
#endif

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Tests the user's actions that the client stores, and sends to the server later.
@Suite(.timeLimit(.minutes(5))) struct OutboxTests {
    private let server = ModelServer()
    private let folder: ScratchFolder
    private let key = SymmetricKey(size: .bits256)

    init() throws {
        self.folder = try ScratchFolder()
        self.server.change { state in for number in 0..<4 { state.add("text \(number)", lasting: 3600) } }
    }

    /// Makes a client, as the app does at each start.
    private func client(_ peer: ProtocolPeer, now: @escaping @Sendable () -> Date = { Date() }) -> PushClient {
        var options = PushClient.Options(testing: [self.server.key.publicKey])
        // The signatures have the real time, but `now` may differ by days, so the tolerance is
        // large.
        options.signatureTolerance = .seconds(10 * 86400)
        options.now = now
        let store = PushClient.Store.folder(URL(fileURLWithPath: self.folder.file("store")), key: self.key)
        return peer.client(.token("t", account: "alice"), options: options, store: store)
    }

    private static func posts(_ peer: ProtocolPeer) -> [PeerRequest] {
        peer.requests.filter { $0.method == "POST" && $0.path == Paths.notifications }
    }

    @Test func queuedTasksAreShownAsDoneAndSentInOrder() async throws {
        try await ProtocolPeer.run(self.server.script) { peer in
            let client = self.client(peer)
            let ids = try await client.sync().value.notifications.map(\.id)
            let count = peer.requests.count
            try await client.outbox.markRead(ids[0])
            try await client.outbox.markRead(ids[1])
            try await client.outbox.send("a")
            try await client.outbox.dismiss(ids[2])
            try await client.outbox.markRead(ids[3], false)
            #expect(peer.requests.count == count, "nothing waits for the network")
            for shown in [client, self.client(peer)] {
                let items = try await shown.cachedInbox().notifications
                #expect(items.map(\.id) == [ids[0], ids[1], ids[3]])
                #expect(items.map(\.isRead) == [true, true, false])
                #expect(try await shown.cachedNotification(ids[0])?.isRead == true)
                #expect(try await shown.cachedNotification(ids[2]) == nil)
                #expect(try await shown.outbox.count == 5)
            }
            _ = try await client.sync()
            #expect(
                peer.requests[count...].map { "\($0.method) \($0.path)" } == [
                    "POST /api/notifications/read", "POST /api/notifications", "DELETE /api/notifications/\(ids[2])",
                    "PATCH /api/notifications/\(ids[3])", "GET /api/notifications",
                ]
            )
            #expect(try await client.outbox.count == 0)
            #expect(
                try await client.cachedInbox().notifications.map(\.payload?.text) == [
                    "text 0", "text 1", "text 3", "a",
                ]
            )
        }
    }

    @Test func aCrashBetweenSendingAndTheAnswerSendsNothingTwice() async throws {
        let script = self.server.script
        try await ProtocolPeer.run(script) { peer in
            let first = self.client(peer)
            let key = try await first.outbox.send("once")
            peer.play { request, index in
                // The server has carried out the request.
                _ = script(request, index)
                return .hangUp
            }
            await #expect(throws: PushClientError.offline(.networkConnectionLost)) { try await first.outbox.flush() }
            #expect(try await first.outbox.count == 1)
            peer.play(script)
            // After a crash, two processes send the stored task at the same time.
            async let one: Void = self.client(peer).outbox.flush()
            async let other: Void = self.client(peer).outbox.flush()
            _ = try await (one, other)
            let keys = Set(Self.posts(peer).map { $0.fields["idempotency-key"] })
            #expect(keys == ["\"\(key.uuidString)\""])
            #expect(self.server.change { $0.entries.values.count { $0.payload == "once" } } == 1)
            let waiting = try await self.client(peer).outbox.count
            #expect(waiting == 0)
        }
    }

    /// Puts the messages `large` and `small` in the outbox, and makes the server refuse `large`.
    /// Returns its key.
    private func sendTwo(
        _ client: PushClient,
        to peer: ProtocolPeer,
        refusal: @escaping @Sendable (PeerRequest) -> PeerAnswer
    ) async throws -> UUID {
        let script = self.server.script
        peer.play { request, index in
            request.body.contains("large") ? .answer(refusal(request)) : script(request, index)
        }
        let key = try await client.outbox.send("large")
        try await client.outbox.send("small")
        return key
    }

    @Test func permanentRefusalIsReportedAndBlocksNothing() async throws {
        let script = self.server.script
        try await ProtocolPeer.run(script) { peer in
            let client = self.client(peer)
            let key = try await self.sendTwo(client, to: peer) {
                PeerAnswer(to: $0, .payloadTooLarge, key: self.server.key)
            }
            try await client.outbox.flush()
            #expect(try await client.outbox.count == 0)
            let failures = try await self.client(peer).outbox.failures
            #expect(failures == [Outbox.Failure(key: key, notification: nil, code: "payload-too-large")])
            #expect(self.server.change { $0.entries.values.contains { $0.payload == "small" } })
            for failure in failures { try await client.outbox.discard(failure) }
            #expect(try await client.outbox.failures.isEmpty)
        }
    }

    /// Anybody can forge a proxy's refusal, so the message still waits.
    @Test func messageAboveAProxysLimitIsAFailureAndBlocksNothing() async throws {
        let script = self.server.script
        try await ProtocolPeer.run(script) { peer in
            let client = self.client(peer)
            let key = try await self.sendTwo(client, to: peer) { _ in PeerAnswer(status: 413, body: "<html>") }
            for _ in 0..<2 { try await client.outbox.flush() }
            #expect(try await client.sync().failure == nil)
            let failures = [Outbox.Failure(key: key, notification: nil, code: "payload-too-large")]
            #expect(try await self.client(peer).outbox.failures == failures)
            #expect(try await client.outbox.count == 1)
            #expect(self.server.change { $0.entries.values.contains { $0.payload == "small" } })
            peer.play(script)
            try await client.outbox.flush()
            #expect(try await client.outbox.count == 0)
            #expect(try await client.outbox.failures.isEmpty)
            #expect(self.server.change { $0.entries.values.contains { $0.payload == "large" } })
        }
    }

    @Test func failedMessageThatStillWaitsCanBeDiscarded() async throws {
        try await ProtocolPeer.run({ _, _ in .answer(PeerAnswer(status: 413)) }) { peer in
            let client = self.client(peer)
            try await client.outbox.send("large")
            try await client.outbox.flush()
            try await client.outbox.discard(#require(try await client.outbox.failures.first))
            #expect(try await client.outbox.count == 0)
            #expect(try await client.outbox.failures.isEmpty)
        }
    }

    @Test(arguments: [ProblemCode.tooManyStreams, .busy, .unauthorized, .internalError])
    func taskWaitsWhileTheServerCannotDoIt(_ code: ProblemCode) async throws {
        try await ProtocolPeer.run({ request, _ in .answer(PeerAnswer(to: request, code, key: self.server.key)) }) {
            peer in
            let client = self.client(peer)
            try await client.outbox.send("a")
            await #expect(throws: PushClientError.self) { try await client.outbox.flush() }
            #expect(try await client.outbox.count == 1)
            #expect(try await client.outbox.failures.isEmpty)
        }
    }

    /// A task that the server cannot carry out now must not keep the client from new
    /// notifications.
    @Test(arguments: [ProblemCode.internalError, .busy, .tooManyStreams])
    func waitingTaskDoesNotBlockTheInbox(_ code: ProblemCode) async throws {
        let script = self.server.script
        try await ProtocolPeer.run(script) { peer in
            let client = self.client(peer)
            let id = try #require(try await client.sync().value.notifications.first?.id)
            try await client.outbox.dismiss(id)
            self.server.change { $0.add("new", lasting: 3600) }
            peer.play { request, index in
                guard request.method == "DELETE" else { return script(request, index) }
                return .answer(PeerAnswer(to: request, code, key: self.server.key))
            }
            let inbox = try await client.sync()
            #expect(inbox.date == nil)
            #expect(inbox.value.notifications.map(\.payload?.text) == ["text 1", "text 2", "text 3", "new"])
            #expect(try await client.outbox.count == 1)
            #expect(try await client.outbox.failures.isEmpty)
        }
    }

    @Test func taskThatAnotherProcessSendsIsLeftToIt() async throws {
        let inUse = ProblemCode.idempotencyKeyInUse
        try await ProtocolPeer.run({ request, _ in .answer(PeerAnswer(to: request, inUse, key: self.server.key)) }) {
            peer in
            let client = self.client(peer)
            try await client.outbox.send("a")
            try await client.outbox.flush()
            #expect(try await client.outbox.count == 1)
        }
    }

    @Test func outboxIsBounded() async throws {
        try await ProtocolPeer.run(self.server.script) { peer in
            let outbox = self.client(peer).outbox
            for id in 1...200 { try await outbox.markRead(Int64(id)) }
            await #expect(throws: PushClientError.outboxFull) { try await outbox.markRead(201) }
            await #expect(throws: PushClientError.outboxFull) { try await outbox.send("a") }
            // A task that replaces another one is accepted, even if the queue is full.
            try await outbox.dismiss(7)
            #expect(try await outbox.count == 200)
            try await outbox.flush()
            let long = String(repeating: "a", count: 1 << 20)
            for _ in 0..<3 { try await outbox.send(long) }
            await #expect(throws: PushClientError.outboxFull) { try await outbox.send(long) }
            #expect(try await outbox.count == 3)
        }
    }

    @Test func onlyTheLastTaskOfANotificationIsSent() async throws {
        try await ProtocolPeer.run(self.server.script) { peer in
            let outbox = self.client(peer).outbox
            try await outbox.markRead(7)
            try await outbox.markRead(7, false)
            try await outbox.dismiss(7)
            // A dismissed notification stays dismissed, even if another process still shows it.
            try await outbox.markRead(7)
            #expect(try await outbox.count == 1)
            try await outbox.flush()
            #expect(peer.requests.map(\.method) == ["DELETE"])
        }
    }

    @Test func signOutEmptiesTheOutbox() async throws {
        try await ProtocolPeer.run({ request, _ in .answer(PeerAnswer(to: request, status: 204, key: self.server.key)) }
        ) { peer in
            let client = self.client(peer)
            try await client.outbox.send("a")
            try await client.signOut()
            await #expect(throws: PushClientError.signedOut) { try await client.outbox.send("b") }
            await #expect(throws: PushClientError.signedOut) { try await client.outbox.flush() }
            let next = self.client(peer)
            #expect(try await next.outbox.count == 0)
            let account = next.records.account
            #expect(account.files.leftovers(in: account.folder).isEmpty, "no payload is left behind")
            #expect(Self.posts(peer).isEmpty)
        }
    }

    @Test func outboxIsEncryptedAndSurvivesCleanup() async throws {
        try await ProtocolPeer.run(self.server.script) { peer in
            let client = self.client(peer)
            try await client.outbox.send("a canary of mine")
            let account = client.records.account
            _ = try account.files.createEntry(
                Data("left".utf8),
                EntryName(id: 9, commit: 1, nonce: 1),
                .server,
                in: account.folder
            )
            try account.sweep()
            #expect(account.files.leftovers(in: account.folder).count == 1)
            let contents = try self.folder.contents()
            #expect(contents.range(of: Data("canary".utf8)) == nil)
            try await client.outbox.flush()
            #expect(account.files.leftovers(in: account.folder).isEmpty)
            #expect(self.server.change { $0.entries.values.contains { $0.payload == "a canary of mine" } })
        }
    }

    @Test func sendIsNotRetriedAfterADay() async throws {
        let time = ManualTime()
        try await ProtocolPeer.run({ _, _ in .hangUp }) { peer in
            let client = self.client(peer, now: { time.now })
            let key = try await client.outbox.send("a")
            await #expect(throws: PushClientError.offline(.networkConnectionLost)) { try await client.outbox.flush() }
            let count = peer.requests.count
            time.pass(24 * 3600)
            try await client.outbox.flush()
            #expect(peer.requests.count == count)
            #expect(try await client.outbox.failures == [Outbox.Failure(key: key, notification: nil, code: nil)])
        }
    }

    /// A hostile server may send a long code. The code must not take the inbox's space in the
    /// index.
    @Test func theCodeOfARefusalIsBounded() async throws {
        try await ProtocolPeer.run(self.server.script) { peer in
            let client = self.client(peer)
            let long = "urn:other:" + String(repeating: "é", count: 100_000)
            let key = try await client.outbox.send("a")
            try await client.inbox.fail([key], long)
            let code = try #require(try await client.outbox.failures.first?.code)
            #expect(code.utf8.count <= 128 && code.hasPrefix("urn:other:é"))
        }
    }

    @Test func aDamagedPayloadIsAFailure() async throws {
        try await ProtocolPeer.run(self.server.script) { peer in
            let client = self.client(peer)
            let key = try await client.outbox.send("a")
            let account = client.records.account
            for name in try account.read().index.files { account.files.removeEntry(name, in: account.folder) }
            try await client.outbox.flush()
            #expect(try await client.outbox.failures == [Outbox.Failure(key: key, notification: nil, code: nil)])
            #expect(peer.requests.isEmpty)
        }
    }

    @Test func taskThatCannotBeStoredIsRefused() async throws {
        try Data().write(to: URL(fileURLWithPath: self.folder.file("store")))
        try await ProtocolPeer.run(self.server.script) { peer in
            let client = self.client(peer)
            await #expect(throws: (any Error).self) { try await client.outbox.send("a") }
            // After a failed write, the inbox is cached in memory.
            let inbox = try await client.sync().value
            #expect(inbox.notifications.count == 4)
        }
    }

    @Test func inboxIsCachedAndTasksWaitWithoutANetwork() async throws {
        let script = self.server.script
        try await ProtocolPeer.run(script) { peer in
            let client = self.client(peer)
            let id = try #require(try await client.sync().value.notifications.first?.id)
            peer.play { _, _ in .hangUp }
            try await client.outbox.dismiss(id)
            let inbox = try await client.sync()
            #expect(inbox.date != nil)
            #expect(inbox.value.notifications.count == 3)
            #expect(try await client.outbox.count == 1)
        }
    }

    @Test func indexWithoutTasksHasTheFormatOfEarlierVersions() throws {
        var index = AccountIndex.empty(.signed, epoch: 1, after: 0)
        #expect(index.bytes(7).first == 2)
        var task = OutboxTask(.send, bytes: 9)
        task.payload = EntryName(payloadOf: 6, nonce: 200)
        task.triedAt = Date(timeIntervalSince1970: 5)
        index.outbox = [task, OutboxTask(.unread, id: -3)]
        index.failures = [
            .init(key: UUID(), notification: 7, code: "x"), .init(key: UUID(), notification: nil, code: nil),
        ]
        #expect(AccountIndex(bytes: index.bytes(7), 7) == index)
        for count in 0..<index.bytes(7).count { #expect(AccountIndex(bytes: index.bytes(7).prefix(count), 7) == nil) }
    }

    @Test(arguments: [false, true]) func indexKeepsTheLastTokens(hasMessages: Bool) {
        var index = AccountIndex.empty(.signed, epoch: 1, after: 0)
        index.account = PeerAnswer.account
        index.messages = hasMessages ? EntryName(messagesOf: 6, nonce: 200) : nil
        for number: UInt8 in [1, 2, 3, 1, 4, 5] { index.add(token: Data(repeating: number, count: 16)) }
        #expect(index.tokens.map(\.first) == [2, 3, 4, 5])
        let bytes = index.bytes(7)
        #expect(AccountIndex(bytes: bytes, 7) == index)
        for count in 0..<bytes.count { #expect(AccountIndex(bytes: bytes.prefix(count), 7) == nil) }
    }
}

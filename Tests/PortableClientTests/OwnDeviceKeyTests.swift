import ClientPeers
import Foundation
import PushAPI
import PushClient
import Testing

/// Tests that the server has the end-to-end keys of this device, and no other keys.
@Suite(.timeLimit(.minutes(5))) struct OwnDeviceKeyTests {
    /// A simulated server that stores the keys of devices.
    private final class Server: Sendable {
        /// The devices by their ids; an empty text stands for a device without keys.
        let devices = Locked<[String: String]>([:])
        /// Whether the server takes no keys now.
        let isBusy = Locked(false)

        var script: ProtocolPeer.Script {
            { request, index in
                let parts = request.path.split(separator: "/").map(String.init)
                let body = try? JSONValue(reading: request.body.utf8)
                switch (request.method, parts.count) {
                case ("POST", _):
                    // The server gives a handle its id again.
                    let known = request.query.isEmpty ? nil : self.devices.withLock { $0.keys.first }
                    return .answer(PeerAnswer(to: request, body: "\"\(known ?? "id-\(index)")\""))
                case ("PUT", 4):
                    if self.isBusy.withLock({ $0 }) { return .answer(PeerAnswer(to: request, .busy)) }
                    self.devices.withLock { $0[parts[2]] = body?["Key"]?.text }
                    return .answer(PeerAnswer(to: request, status: 204))
                case ("PUT", _):
                    let isNew = request.target == "/api/register/id-\(index - 1)"
                    let isKnown = self.devices.withLock { devices in
                        if isNew { devices[parts[2]] = "" }
                        return devices[parts[2]] != nil
                    }
                    return .answer(isKnown ? PeerAnswer(to: request) : PeerAnswer(to: request, .registrationGone))
                default:
                    let list = self.devices.withLock { $0 }.map { id, key in
                        JSONValue.object([
                            .init("Id", .string(id)), .init("Key", key.isEmpty ? .null : .string(key)),
                        ])
                    }
                    return .answer(
                        PeerAnswer(to: request, body: String(decoding: JSONValue.array(list).bytes, as: UTF8.self))
                    )
                }
            }
        }
    }

    private static let account = String(repeating: "A", count: 22)
    private let keys: DeviceKeys
    private let other: DeviceKeys
    private let server = Server()
    private let options: PushClient.Options

    init() throws {
        (self.keys, self.other) = (try DeviceKeys(account: Self.account), try DeviceKeys(account: Self.account))
        var options = PushClient.Options(testing: [])
        options.deviceKey = self.keys.key
        self.options = options
    }

    /// The keys that the server lists for the app's devices, after the next start of the app.
    private func start(_ peer: ProtocolPeer, _ store: PushClient.Store, handle: String = "a") async throws -> [String] {
        let client = peer.client(options: self.options, store: store)
        for _ in 0..<2 { try await client.registerIfNeeded(platform: "apns", handle: handle) }
        return self.server.devices.withLock { Array($0.values) }
    }

    @Test func theServerGetsTheKeysUnderEachIDAndWhenItLacksThem() async throws {
        let (own, store) = (self.keys.key.text, PushClient.Store.memory)
        try await ProtocolPeer.run(self.server.script) { peer in
            #expect(try await self.start(peer, store) == [own])
            // Somebody has removed the device at the server.
            self.server.devices.withLock { $0 = [:] }
            #expect(try await self.start(peer, store) == [own])
            // The server has lost the keys, or lists an unreadable text, or keys of another
            // account.
            let stranger = try DeviceKeys(account: String(repeating: "B", count: 22)).key.text
            for text in ["", "?", stranger] {
                self.server.devices.withLock { $0 = $0.mapValues { _ in text } }
                #expect(try await self.start(peer, store) == [own])
            }
            // The approval by another device stays, also if the device registers again.
            let approved = try self.other.approve(self.keys.key)
            self.server.devices.withLock { $0 = $0.mapValues { _ in approved } }
            let count = peer.requests.count
            #expect(try await self.start(peer, store) == [approved])
            #expect(peer.requests.dropFirst(count).map(\.method) == ["GET"])
            #expect(try await self.start(peer, store, handle: "b") == [approved])
        }
    }

    @Test func otherKeysAreReportedUntilTheAppSetsItsOwn() async throws {
        let (own, store) = (self.keys.key.text, PushClient.Store.memory)
        try await ProtocolPeer.run(self.server.script) { peer in
            #expect(try await self.start(peer, store) == [own])
            self.server.devices.withLock { $0 = $0.mapValues { _ in self.other.key.text } }
            for handle in ["a", "a", "b", "b"] {
                await #expect(throws: PushClientError.keyReplaced) {
                    try await self.start(peer, store, handle: handle)
                }
            }
            let client = peer.client(options: self.options, store: store)
            #expect(try await client.devices().map(\.key) == [self.other.key])
            try await client.setDeviceKey(self.keys.key)
            #expect(try await self.start(peer, store, handle: "b") == [own])
        }
    }

    /// After a loss of the store and a new sign-in, the server still lists the keys that the
    /// device has lost.
    @Test func theKeysOfANewSignInReplaceTheLostOnesAlsoAfterAFailure() async throws {
        try await ProtocolPeer.run(self.server.script) { peer in
            #expect(try await self.start(peer, .memory) == [self.keys.key.text])
            var options = self.options
            options.deviceKey = self.other.key
            let client = peer.client(options: options, store: .memory)
            self.server.isBusy.withLock { $0 = true }
            // The first attempt fails after the registration, and before the keys.
            await #expect(throws: PushClientError.busy(Problem(.busy), retryAfter: nil)) {
                try await client.registerIfNeeded(platform: "apns", handle: "a")
            }
            self.server.isBusy.withLock { $0 = false }
            try await client.registerIfNeeded(platform: "apns", handle: "a")
            #expect(self.server.devices.withLock { Array($0.values) } == [self.other.key.text])
        }
    }

    /// The app of a device without a provider never calls `registerIfNeeded`.
    @Test func aStreamGivesTheServerTheKeysAlsoAfterAFailure() async throws {
        let script: ProtocolPeer.Script = { request, index in
            guard request.path == Paths.stream else { return self.server.script(request, index) }
            var answer = PeerAnswer(to: request, fields: [("Content-Type", "text/event-stream")], body: ":\n\n")
            answer.framing = .chunked(isEnded: false)
            return .hold(answer)
        }
        var options = self.options
        options.streamRetry = .milliseconds(1)
        try await ProtocolPeer.run(script, options: options) { _, client in
            self.server.isBusy.withLock { $0 = true }
            var events = client.events().makeAsyncIterator()
            guard case .disconnected(PushClientError.busy(_, retryAfter: _)?, retryIn: _) = try await events.next()
            else {
                Issue.record("the server has taken the keys")
                return
            }
            self.server.isBusy.withLock { $0 = false }
            guard case .connected = try await events.next() else {
                Issue.record("the stream is not open")
                return
            }
            #expect(self.server.devices.withLock { Array($0.values) } == [self.keys.key.text])
        }
    }
}

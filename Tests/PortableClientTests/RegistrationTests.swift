import ClientPeers
import Foundation
import PushAPI
import PushClient
import Testing

@Suite(.timeLimit(.minutes(5))) struct RegistrationTests {
    /// A simulated server that gives out the ids `id-1`, `id-2` and so on, and answers 410 for
    /// retired ids.
    private final class Registry: Sendable {
        let retired = Locked<Set<String>>([])
        private let count = Locked(0)

        var script: ProtocolPeer.Script {
            { request, _ in
                if request.method == "POST" {
                    let number = self.count.withLock { count in
                        count += 1
                        return count
                    }
                    return .answer(PeerAnswer(to: request, body: "\"id-\(number)\""))
                }
                let id = String(request.path.split(separator: "/").last ?? "")
                return self.retired.withLock { $0.contains(id) }
                    ? .answer(PeerAnswer(to: request, .registrationGone)) : .answer(PeerAnswer(to: request))
            }
        }
    }

    /// Returns the number of requests that register a device, without those that only read.
    private static func registrations(_ peer: ProtocolPeer) -> Int { peer.requests.count { $0.method != "GET" } }

    @Test func registrationIDIsRequestedOnceAndReused() async throws {
        let store = PushClient.Store.memory
        try await ProtocolPeer.run(Registry().script, store: store) { peer, client async throws in
            #expect(client.registrationID == nil)
            #expect(try await client.register(platform: "apns", handle: "a+b/c d&e=ä", tags: ["news"]) == "id-1")
            #expect(peer.requests.map(\.method) == ["POST", "PUT"])
            #expect(peer.requests[0].target == "/api/register?handle=a%2Bb%2Fc%20d%26e%3D%C3%A4")
            #expect(peer.requests[1].target == "/api/register/id-1")
            #expect(peer.requests[1].body == #"{"Platform":"apns","Handle":"a+b/c d&e=ä","Tags":["news"]}"#)
            // The app starts again, with a new client and a new handle.
            #expect(try await peer.client(store: store).register(platform: "apns", handle: "b") == "id-1")
            #expect(peer.requests.map(\.method) == ["POST", "PUT", "PUT"])
            #expect(client.registrationID == "id-1")
        }
    }

    /// A provider has reported that the device is gone, so the server has retired the
    /// registration.
    @Test(arguments: [
        #"[{"Id":"id-2"}]"#, #"[{"Id":"id-1","RetiredAt":"2026-01-01T00:00:00Z"}]"#, "[]",
    ])
    func aRetiredRegistrationIsNoticedAtTheNextStart(devices: String) async throws {
        let store = PushClient.Store.memory
        let list = Locked(#"[{"Id":"id-1"}]"#)
        let registry = Registry()
        try await ProtocolPeer.run(
            { request, index in
                guard request.method == "GET" else { return registry.script(request, index) }
                return .answer(PeerAnswer(to: request, body: list.withLock { $0 }))
            },
            store: store
        ) { peer, client in
            try await client.registerIfNeeded(platform: "apns", handle: "a")
            let count = peer.requests.count
            let next = peer.client(store: store)
            for _ in 0..<2 { try await next.registerIfNeeded(platform: "apns", handle: "a") }
            #expect(peer.requests.dropFirst(count).map { "\($0.method) \($0.target)" } == ["GET /api/register"])
            list.withLock { $0 = devices }
            registry.retired.withLock { $0 = ["id-1"] }
            #expect(try await peer.client(store: store).registerIfNeeded(platform: "apns", handle: "a") == "id-2")
            // If the server does not answer, the client keeps its registration.
            peer.play { _, _ in .hangUp }
            #expect(try await peer.client(store: store).registerIfNeeded(platform: "apns", handle: "a") == "id-2")
        }
    }

    @Test func clientOfANamedAppNamesItInEveryRequest() async throws {
        try await ProtocolPeer.run(Registry().script) { peer, _ in
            let client = peer.client(options: .init(testing: [], app: "bank"))
            try await client.register(platform: "apns", handle: "a", isSandbox: true)
            let body = #"{"Platform":"apns","Handle":"a","Tags":[],"App":"bank","Environment":"sandbox"}"#
            #expect(peer.requests.last?.body == body)
            // A registration with another environment is a different registration.
            let count = peer.requests.count
            try await client.registerIfNeeded(platform: "apns", handle: "a", isSandbox: true)
            #expect(peer.requests.count == count)
            try await client.registerIfNeeded(platform: "apns", handle: "a")
            #expect(peer.requests.count == count + 1)
            _ = try? await client.send("x")
            _ = try? await client.sync()
            #expect(
                peer.requests.suffix(2).map(\.target) == [
                    "/api/notifications?app=bank", "/api/notifications?limit=500&app=bank",
                ]
            )
        }
    }

    @Test func goneRegistrationIDIsReplacedOnce() async throws {
        let registry = Registry()
        try await ProtocolPeer.run(registry.script) { peer, client in
            try await client.register(platform: "apns", handle: "a")
            registry.retired.withLock { $0 = ["id-1"] }
            #expect(try await client.register(platform: "apns", handle: "a") == "id-2")
            #expect(client.registrationID == "id-2")
            #expect(
                peer.requests.dropFirst(2).map(\.target) == [
                    "/api/register/id-1", "/api/register", "/api/register/id-2",
                ]
            )
            // All ids are gone. The client tries two ids and then gives up, so that it does not
            // loop.
            registry.retired.withLock { $0 = ["id-2", "id-3"] }
            let count = peer.requests.count
            await #expect(throws: PushClientError.problem(Problem(.registrationGone))) {
                try await client.register(platform: "apns", handle: "a")
            }
            #expect(peer.requests.count == count + 3)
            #expect(client.registrationID == nil)
        }
    }

    @Test func registerIfNeededSendsARequestOnlyForAReason() async throws {
        let time = ManualTime()
        try await ProtocolPeer.run(Registry().script, options: time.options) { peer, client async throws in
            func register(_ handle: String, _ tags: [String] = [], platform: String = "apns") async throws -> Int {
                let before = peer.requests.count
                _ = try await client.registerIfNeeded(
                    platform: platform,
                    handle: handle,
                    tags: tags,
                    atLeastEvery: .seconds(3600)
                )
                return peer.requests.count - before
            }
            #expect(try await register("a", ["x", "y"]) == 2)
            #expect(try await register("a", ["y", "x"]) == 0)
            time.pass(3599)
            #expect(try await register("a", ["x", "y"]) == 0)
            time.pass(1)
            #expect(try await register("a", ["x", "y"]) == 1)
            #expect(try await register("b", ["x", "y"]) == 1)
            #expect(try await register("b", ["x"]) == 1)
            #expect(try await register("b", ["x"], platform: "fcm") == 1)
            time.pass(-7200)
            #expect(try await register("b", ["x"], platform: "fcm") == 1)
        }
    }

    /// When a session ends, the server unregisters the session's device. The client must therefore
    /// register the device again in its next session.
    @Test func anotherSessionRegistersTheDeviceAgain() async throws {
        let store = PushClient.Store.memory
        try await ProtocolPeer.run(Registry().script) { peer, _ async throws in
            func register(_ credentials: PushClient.Credentials) async throws -> Int {
                let before = Self.registrations(peer)
                _ = try await peer.client(credentials, store: store).registerIfNeeded(platform: "apns", handle: "ab")
                return Self.registrations(peer) - before
            }
            func register(_ token: String) async throws -> Int { try await register(.token(token, account: "alice")) }
            #expect(try await register("spt_firstfirstfirst") == 2)
            #expect(try await register("spt_firstfirstfirst") == 0)
            #expect(try await register("spt_second") == 1)
            // The first call after a start asks the app's closure for a token.
            let provided = PushClient.Credentials.tokens(account: "alice") { _ in "spt_second" }
            #expect(try await register(provided) == 0)
            #expect(try await register(.tokens(account: "alice") { _ in "spt_third" }) == 1)
            // Without a token, only the account id says that the stored registration is the
            // user's.
            func offline(_ id: String?) -> PushClient.Credentials {
                .tokens(account: "alice", id: id) { _ in throw URLError(.notConnectedToInternet) }
            }
            #expect(try await register(offline(PeerAnswer.account)) == 0)
            await #expect(throws: PushClientError.offline(.notConnectedToInternet)) { try await register(offline(nil)) }
            // An issuer's tokens change often, so a new token does not mean a new session.
            #expect(try await register("of-an-issuer") == 1)
            #expect(try await register("the-next-one") == 0)
            #expect(try await register(.basic(username: "alice", password: "secret")) == 0)
        }
    }

    /// In some apps, the system calls the delegate twice. The two calls must request only one id
    /// and make one registration.
    @Test func concurrentCallsRegisterOneAfterTheOther() async throws {
        let count = Counter()
        try await ProtocolPeer.run({ request, _ in
            let id = request.method == "POST" ? "id-\(count.next())" : ""
            return .answer(PeerAnswer(to: request, body: id.isEmpty ? "" : "\"\(id)\""))
        }) { peer, client in
            let ids = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<5 { group.addTask { try await client.registerIfNeeded(platform: "apns", handle: "ab") } }
                group.addTask { try await client.register(platform: "apns", handle: "ab") }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(Set(ids) == ["id-0"])
            #expect(client.registrationID == "id-0")
            let methods = peer.requests.map(\.method)
            #expect(methods.count { $0 == "POST" } == 1)
            #expect((1...2).contains(methods.count { $0 == "PUT" }))
        }
    }

    /// A cancelled call gives up its place in the queue.
    @Test func aCallThatIsCancelledBeforeItsTurnRegistersNothing() async throws {
        try await ProtocolPeer.run({ request, _ in
            request.method == "POST" ? .silence : .answer(PeerAnswer(to: request))
        }) { peer, client in
            let first = Task { try await client.register(platform: "apns", handle: "ab") }
            while peer.requests.isEmpty { await Task.yield() }
            let second = Task { try await client.register(platform: "apns", handle: "ab") }
            for task in [second, first] {
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
            }
            #expect(peer.requests.count == 1)
        }
    }

    @Test func unregisteringAgainSucceeds() async throws {
        try await ProtocolPeer.run(Registry().script) { peer, client in
            try await client.unregister()
            #expect(peer.requests.isEmpty)
            try await client.register(platform: "apns", handle: "a")
            try await client.unregister()
            try await client.unregister()
            #expect(peer.requests.dropFirst(2).map { "\($0.method) \($0.target)" } == ["DELETE /api/register/id-1"])
        }
        for code in [ProblemCode.notFound, .registrationGone] {
            try await ProtocolPeer.run(Registry().script) { peer, client in
                try await client.register(platform: "apns", handle: "a")
                peer.play { request, _ in .answer(PeerAnswer(to: request, code)) }
                try await client.unregister()
                #expect(client.registrationID == nil)
            }
        }
    }

    @Test func registrationStaysIfUnregisteringFails() async throws {
        try await ProtocolPeer.run(Registry().script) { peer, client in
            try await client.register(platform: "apns", handle: "a")
            peer.play { _, _ in .hangUp }
            await #expect(throws: PushClientError.offline(.networkConnectionLost)) { try await client.unregister() }
            #expect(client.registrationID == "id-1")
        }
    }

    /// An impostor answers with an invented id, which would lead to another path.
    @Test(arguments: ["", ".", "..", "a/b", "a?b", "a b", "ä", String(repeating: "a", count: 129)])
    func invalidRegistrationIDIsRefused(id: String) async throws {
        try await ProtocolPeer.run({ request, _ in .answer(PeerAnswer(to: request, body: "\"\(id)\"")) }) {
            peer,
            client in
            let found = await interference { try await client.register(platform: "apns", handle: "a") }
            #expect(found?.kind == .unexpectedBody)
            #expect(peer.requests.count == 1)
        }
    }
}

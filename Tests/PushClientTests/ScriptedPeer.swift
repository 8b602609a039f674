import ClientPeers
import Foundation
import PushClient
import Reactor
import Testing

/// A server, or an impostor, on a real socket, that answers each request according to a script.
final class ScriptedPeer: Sendable {
    typealias Script = PeerScript
    typealias Reply = PeerReply

    let url: URL
    private let script: Locked<Script>
    private let before: @Sendable (PeerRequest) async -> Void
    private let log = Locked<[PeerRequest]>([])
    private let left = Locked(0)
    /// The open sockets; `nil` after the test.
    private let sockets = Locked<Set<Int32>?>([])

    private init(url: URL, script: @escaping Script, before: @escaping @Sendable (PeerRequest) async -> Void) {
        self.url = url
        self.script = Locked(script)
        self.before = before
    }

    /// The requests so far, in the order of their arrival.
    var requests: [PeerRequest] { self.log.withLock { $0 } }

    /// The number of connections with the reply `hold` that the client has closed.
    var leftStreams: Int { self.left.withLock { $0 } }

    /// Uses another script from now on. The index of requests continues.
    func play(_ script: @escaping Script) {
        self.script.withLock { $0 = script }
    }

    /// Runs `body`; meanwhile, a peer answers requests by `script`.
    @discardableResult
    static func run<Result: Sendable>(
        _ script: @escaping Script,
        _ body: @escaping @Sendable (ScriptedPeer) async throws -> Result
    ) async throws -> Result {
        try await self.run(script, before: { _ in }, body)
    }

    /// Runs `body`; meanwhile, a peer answers requests by `script`. Before each answer, the peer
    /// waits for the closure `before`.
    @discardableResult
    static func run<Result: Sendable>(
        _ script: @escaping Script,
        before: @escaping @Sendable (PeerRequest) async -> Void,
        _ body: @escaping @Sendable (ScriptedPeer) async throws -> Result
    ) async throws -> Result {
        let listener = try Listener(.tcp(host: "127.0.0.1", port: 0))
        let url = try #require(URL(string: "http://\(listener.address)"))
        let peer = ScriptedPeer(url: url, script: script, before: before)
        let loop = try EventLoop(index: 0)
        defer { loop.stop() }
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask(executorPreference: loop) {
                await withDiscardingTaskGroup { connections in
                    await listener.accept(on: loop) { number in
                        connections.addTask(executorPreference: loop) { await peer.serve(number, on: loop) }
                    }
                }
            }
            defer {
                group.cancelAll()
                peer.hangUp()
            }
            return try await body(peer)
        }
    }

    /// Runs `body` with a client; meanwhile, a peer answers the client's requests by `script`.
    @discardableResult
    static func run<Result: Sendable>(
        _ script: @escaping Script,
        options: PushClient.Options = .init(testing: []),
        store: PushClient.Store = .memory,
        _ body: @escaping @Sendable (ScriptedPeer, PushClient) async throws -> Result
    ) async throws -> Result {
        try await self.run(script) { peer in
            try await body(peer, peer.client(options: options, store: store))
        }
    }

    func client(
        _ credentials: PushClient.Credentials = .token("spt_test", account: "alice"),
        options: PushClient.Options = .init(testing: []),
        store: PushClient.Store = .memory
    ) -> PushClient {
        PushClient(server: self.url, credentials: credentials, options: options, store: store)
    }

    // MARK: - Private

    private func serve(_ number: Int32, on loop: EventLoop) async {
        guard let descriptor = try? Descriptor(number, on: loop) else { return }
        let stream = SocketStream(descriptor)
        let isOpen = self.sockets.withLock { $0?.insert(number).inserted ?? false }
        defer {
            _ = self.sockets.withLock { $0?.remove(number) }
            stream.close()
        }
        guard isOpen else { return }
        var bytes: [UInt8] = []
        while let request = await Self.request(from: stream, &bytes) {
            let index = self.log.withLock { log in
                log.append(request)
                return log.count - 1
            }
            await self.before(request)
            switch self.script.withLock({ $0 })(request, index) {
            case .answer(let answer):
                guard await Self.write(answer.encoded, to: stream) else { return }
                if answer.hangsUp { return }
            case .hold(let answer):
                guard await Self.write(answer.encoded, to: stream) else { return }
                while await Self.read(from: stream, &bytes) {}
                return self.left.withLock { $0 += 1 }
            case .hangUp: return
            case .bytes(let text):
                _ = await Self.write(Array(text.utf8), to: stream)
                return
            case .silence: while await Self.read(from: stream, &bytes) {}
            }
        }
    }

    /// Closes all connections, because an abandoned client would keep them open for long.
    private func hangUp() {
        self.sockets.withLock { sockets in
            // Each descriptor is removed from the set before its socket is closed. No descriptor
            // in the set can therefore belong to another socket.
            for socket in sockets ?? [] { shutdown(socket, Int32(SHUT_RDWR)) }
            sockets = nil
        }
    }

    private static func request(from stream: SocketStream, _ bytes: inout [UInt8]) async -> PeerRequest? {
        while true {
            if let request = PeerRequest(from: &bytes) { return request }
            guard await Self.read(from: stream, &bytes) else { return nil }
        }
    }

    /// Returns whether the connection may deliver more bytes.
    private static func read(from stream: SocketStream, _ bytes: inout [UInt8]) async -> Bool {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            do {
                if let count = try buffer.withUnsafeMutableBytes({ try stream.read(into: $0) }) {
                    bytes += buffer[..<count]
                    return count > 0
                }
                try await stream.waitToRead(until: .now + .seconds(30))
            } catch {
                return false
            }
        }
    }

    private static func write(_ bytes: [UInt8], to stream: SocketStream) async -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            do {
                if let count = try rest.withUnsafeBytes({ try stream.write($0) }) {
                    rest = rest.dropFirst(count)
                } else {
                    try await stream.waitToWrite(until: .now + .seconds(30))
                }
            } catch {
                return false
            }
        }
        return true
    }
}

import CurlHTTP
import Foundation
import Glibc
import Reactor
import Testing

/// The peer's reaction to the requests of each connection.
enum Reply: Sendable {
    case text(String)
    /// The peer sends the same answer to each request of the connection.
    case each(String)
    /// The answers to the connection's requests, in order.
    case inTurn([String])
    /// The answer to the connection's first request; later requests get none.
    case once(String)
    case silence
    case reset
}

/// A minimal HTTP/1.1 peer on its own port, a client, and the event loop of both.
struct Exchange: Sendable {
    let client: HTTPClient
    /// The peer's URL without a final slash.
    let base: String
    /// Each request as the peer received it.
    let requests: AsyncStream<String>
    let loop: EventLoop

    func get(_ path: String = "/", timeout: Duration = .seconds(60)) async -> Result<OutboundResponse, OutboundError> {
        await self.send(.get, path, timeout: timeout)
    }

    func send(
        _ method: OutboundRequest.Method,
        _ path: String = "/",
        headers: [OutboundRequest.Header] = [],
        body: String = "",
        timeout: Duration = .seconds(60)
    ) async -> Result<OutboundResponse, OutboundError> {
        guard let url = OutboundURL(self.base + path) else { return .failure(.badRequest("test")) }
        let request = OutboundRequest(method, url, headers: headers, body: Array(body.utf8), timeout: timeout)
        do throws(OutboundError) {
            return .success(try await self.client.send(request))
        } catch {
            return .failure(error)
        }
    }

    /// Returns, for each of the client's sockets, whether it is corked, which means that the
    /// kernel may hold back its last bytes.
    func corks() async throws -> [Bool] {
        let port = self.base.split(separator: ":").last.flatMap { UInt16($0) }
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        return descriptors.compactMap { Int32($0) }.compactMap { socket in
            var (name, length) = (sockaddr_in(), socklen_t(MemoryLayout<sockaddr_in>.size))
            let hasPeer = withUnsafeMutableBytes(of: &name) { bytes in
                bytes.withMemoryRebound(to: sockaddr.self) { getpeername(socket, $0.baseAddress, &length) == 0 }
            }
            guard hasPeer, name.sin_family == AF_INET, UInt16(bigEndian: name.sin_port) == port else { return nil }
            var (value, size) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
            guard getsockopt(socket, Int32(IPPROTO_TCP), TCP_CORK, &value, &size) == 0 else { return nil }
            return value != 0
        }
    }

    func requestText() async -> String? {
        var iterator = self.requests.makeAsyncIterator()
        return await iterator.next()
    }
}

extension HTTPClientSettings {
    /// The settings for tests: without TLS, and with loopback addresses allowed.
    static var loopback: HTTPClientSettings { HTTPClientSettings { ($0.allowsPlainHTTP, $0.addresses) = (true, .any) } }
}

extension Result {
    var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}

/// Runs `body` with a peer and a client. With `asProxy` the peer is the client's proxy, which
/// gets `credentials`.
func withPeer<Value: Sendable>(
    _ reply: Reply,
    _ settings: HTTPClientSettings = .loopback,
    asProxy isProxy: Bool = false,
    credentials: String? = nil,
    _ body: @Sendable @escaping (Exchange) async throws -> Value
) async throws -> Value {
    let loop = try EventLoop(index: 0)
    defer { loop.stop() }
    let listener = try Listener(.tcp(host: "127.0.0.1", port: 0))
    let (requests, received) = AsyncStream.makeStream(of: String.self)
    var settings = settings
    if isProxy {
        let url = try #require(OutboundURL("http://\(listener.address)"))
        settings.proxy = OutboundProxy(url, credentials: credentials)
    }
    let client = try HTTPClient(settings, on: loop)
    let exchange = Exchange(client: client, base: "http://\(listener.address)", requests: requests, loop: loop)
    return try await withThrowingTaskGroup(of: Value?.self) { group in
        group.addTask(executorPreference: loop) {
            await withDiscardingTaskGroup { connections in
                await listener.accept(on: loop) { descriptor in
                    connections.addTask(executorPreference: loop) {
                        await serve(descriptor, on: loop, reply, received)
                    }
                }
            }
            return nil
        }
        group.addTask { try await body(exchange) }
        defer { group.cancelAll() }
        while let result = await group.nextResult() {
            guard let value = try result.get() else { continue }
            await client.close()
            return value
        }
        throw CancellationError()
    }
}

private func serve(
    _ number: Int32,
    on loop: EventLoop,
    _ reply: Reply,
    _ received: AsyncStream<String>.Continuation
) async {
    guard let descriptor = try? Descriptor(number, on: loop) else { return }
    defer { descriptor.close() }
    // This is safe, because only the event loop uses the stream.
    nonisolated(unsafe) let stream = SocketStream(descriptor)
    await descriptor.cancellingWaits {
        // The peer may ignore failures, because the test sees them on the client's side.
        guard var text = try? await readRequest(stream) else { return }
        received.yield(text)
        switch reply {
        case .text(let text): await write(text, to: stream)
        case .each(let answer):
            while !text.isEmpty {
                await write(answer, to: stream)
                text = (try? await readRequest(stream)) ?? ""
            }
        case .inTurn(let answers):
            for answer in answers where !text.isEmpty {
                await write(answer, to: stream)
                text = (try? await readRequest(stream)) ?? ""
                if !text.isEmpty { received.yield(text) }
            }
        case .once(let answer):
            await write(answer, to: stream)
            guard let text = try? await readRequest(stream), !text.isEmpty else { return }
            received.yield(text)
            try? await stream.waitToRead(until: .now + .seconds(60))
        case .silence:
            try? await stream.waitToRead(until: .now + .seconds(60))
        case .reset:
            var now = linger(l_onoff: 1, l_linger: 0)
            setsockopt(number, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
        }
    }
}

private func write(_ text: String, to stream: SocketStream) async {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
        guard let result = try? bytes.withUnsafeBytes({ try stream.write($0) }) else {
            guard (try? await stream.waitToWrite(until: .now + .seconds(60))) != nil else { return }
            continue
        }
        bytes = bytes.dropFirst(result)
    }
}

/// Reads a request: its header, and a body of the announced length.
private func readRequest(_ stream: SocketStream) async throws -> String {
    var text = ""
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 1)
    defer { buffer.deallocate() }
    while true {
        if let count = try stream.read(into: buffer) {
            text += String(decoding: buffer[..<count], as: UTF8.self)
            // This is the first byte of a TLS handshake. The client sends nothing more before the
            // peer's answer.
            if text.utf8.first == 0x16 { return text }
            let parts = text.split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false)
            let length = text.firstMatch(of: /Content-Length: (\d+)/).flatMap { Int($0.1) } ?? 0
            if parts.count == 2, parts[1].utf8.count >= length { return text }
            if count == 0 { return text }
        } else {
            try await stream.waitToRead(until: .now + .seconds(60))
        }
    }
}

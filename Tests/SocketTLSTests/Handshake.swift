import PushSimulators
import PushTesting
import Reactor
import SocketTLS
import Testing

extension TLSServerContext {
    /// Makes a context for `localhost` that supports HTTP/1.1.
    convenience init(
        identities: [TestAuthority.Identity]? = nil,
        trusting authority: TestAuthority? = nil,
        revoked: String? = nil,
        ticketKeys: TicketKeys? = nil
    ) throws {
        let identities = try identities ?? [TestAuthority().makeServerIdentity()]
        try self.init(
            identities: identities.map { try TLSIdentity($0) },
            protocols: ["http/1.1"],
            clientAuthorities: authority.map { authority in
                let lists = try revoked.map { try TLSRevocationLists($0) }
                return try TLSClientAuthorities(certificates: authority.certificate, revoked: lists)
            },
            ticketKeys: ticketKeys
        )
    }
}

/// Runs `body` with both ends of a connection after its handshake.
func withHandshake<Result: Sendable>(
    _ context: TLSServerContext? = nil,
    _ options: TLSTestClient.Options = .init(),
    _ body: @Sendable @escaping (TLSStream, TLSTestClient) async throws -> Result
) async throws -> Result {
    let context = try context ?? TLSServerContext()
    return try await withConnection { loop, server, socket in
        let stream = try TLSStream(server, context: context)
        let client = try TLSTestClient(socket, options)
        // This is safe, because both sides are used only on this event loop.
        nonisolated(unsafe) let (serverSide, clientSide) = (stream, client)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask(executorPreference: loop) {
                try await serverSide.handshake(until: .now + .seconds(30))
            }
            group.addTask(executorPreference: loop) { try await clientSide.connect() }
            try await group.waitForAll()
        }
        return try await body(stream, client)
    }
}

/// The errors of both sides of a failed handshake; `nil` for a side without an error.
struct Refusal: Sendable {
    let server: String?
    let client: String?
}

/// Tries a handshake that the server is expected to refuse.
func refusal(_ context: TLSServerContext? = nil, _ options: TLSTestClient.Options) async throws -> Refusal {
    let context = try context ?? TLSServerContext()
    return try await withConnection { loop, server, socket in
        let stream = try TLSStream(server, context: context)
        let client = try TLSTestClient(socket, options)
        // This is safe, because both sides are used only on this event loop.
        nonisolated(unsafe) let (serverSide, clientSide) = (stream, client)
        async let answer = failure {
            try await clientSide.connect()
            // With TLS 1.3, the client's handshake ends before the server has checked the client's
            // certificate. Only a read shows the refusal.
            _ = try await clientSide.read()
        }
        let own = await failure { try await serverSide.handshake(until: .now + .seconds(30)) }
        server.endWriting()
        return Refusal(server: own, client: await answer)
    }
}

/// Returns the error that `body` throws, as text.
func failure(_ body: () async throws -> Void) async -> String? {
    do {
        try await body()
        return nil
    } catch {
        return "\(error)"
    }
}

/// Waits for bytes and returns them. The array is empty at the end of the stream.
func read(_ stream: TLSStream) async throws -> [UInt8] {
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
        if let count = try buffer.withUnsafeMutableBytes({ try stream.read(into: $0) }) {
            return Array(buffer[..<count])
        }
        try await stream.waitToRead(until: .now + .seconds(30))
    }
}

/// Sends a short text, which must fit in the buffer.
func write(_ text: String, to stream: TLSStream) throws {
    let count = try Array(text.utf8).withUnsafeBytes { try stream.write($0) }
    try #require(count == text.utf8.count)
}

/// The facts that a test learns from one short connection.
struct Visit: Sendable {
    var wasResumed: Bool
    var session: TLSTestClient.Session?
    var serverName: String?
    var certificateName: String?
}

/// Connects and waits for an answer, so that the session tickets have arrived, too.
func visit(_ context: TLSServerContext, _ options: TLSTestClient.Options = .init()) async throws -> Visit {
    try await withHandshake(context, options) { stream, client in
        try write("pong", to: stream)
        #expect(try await client.read() == Array("pong".utf8))
        return Visit(
            wasResumed: client.wasResumed,
            session: client.currentSession,
            serverName: client.serverName,
            certificateName: stream.certificateName
        )
    }
}

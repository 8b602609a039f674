internal import Glibc
package import Reactor

/// Runs `body` on an event loop of its own, with the two ends of a connection: first the server's
/// end. `body` need not close the ends.
package func withConnection<Result: Sendable>(
    _ body: @Sendable @escaping (EventLoop, SocketStream, SocketStream) async throws -> Result
) async throws -> Result {
    let loop = try EventLoop(index: 0)
    defer { loop.stop() }
    return try await withThrowingTaskGroup(of: Result.self) { group in
        group.addTask(executorPreference: loop) {
            var pair: [Int32] = [0, 0]
            let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
            try SystemError.check("socketpair") { socketpair(AF_UNIX, type, 0, &pair) }
            let (server, client) = (
                SocketStream(try Descriptor(pair[0], on: loop)), SocketStream(try Descriptor(pair[1], on: loop))
            )
            defer {
                server.close()
                client.close()
            }
            return try await body(loop, server, client)
        }
        guard let result = try await group.next() else { throw CancellationError() }
        return result
    }
}

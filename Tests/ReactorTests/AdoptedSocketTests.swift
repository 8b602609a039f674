import Glibc
import PushTesting
import Testing

@testable import Reactor

/// A listening socket that another process has made, as systemd does.
@Suite(.timeLimit(.minutes(5))) struct AdoptedSocketTests {
    @Test(arguments: [
        SocketAddress.tcp(host: "127.0.0.1", port: 0), .tcp(host: "::1", port: 0),
        .unix(path: "/tmp/sealpost-\(UInt64.random(in: 0 ... .max)).sock"),
    ])
    func anAdoptedSocketHasTheAddressItWasBoundTo(address: SocketAddress) throws {
        defer { if case .unix(let path) = address { unlink(path) } }
        let first = try Listener(address)
        let adopted = try Listener(adopting: try self.duplicate(of: first.socket))
        #expect(adopted.address == first.address)
        if case .unix = address { #expect(adopted.address == address) }
    }

    @Test func anAbstractNameIsWrittenWithAnAtSign() throws {
        let socket = try self.makeSocket(AF_UNIX, SOCK_STREAM)
        // The socket is bound without a path, so that the kernel chooses a name (unix(7),
        // autobind).
        var family = sa_family_t(AF_UNIX)
        let bound = withUnsafeBytes(of: &family) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { bind(socket, $0.baseAddress, socklen_t(bytes.count)) }
        }
        try #require(bound == 0)
        try #require(listen(socket, 1) == 0)
        #expect(try Listener(adopting: socket).address.description.wholeMatch(of: /unix:@[0-9a-f]{5}/) != nil)
    }

    @Test func adoptedSocketIsNonBlockingCloseOnExecAndNoDelay() async throws {
        let socket = try self.makeSocket(AF_INET, SOCK_STREAM)
        try #require(listen(socket, 1) == 0)
        let adopted = try Listener(adopting: socket)
        #expect(fcntl(socket, F_GETFL) & O_NONBLOCK != 0)
        #expect(fcntl(socket, F_GETFD) & FD_CLOEXEC != 0)
        let client = try ClientSocket.connect(to: adopted.address)
        defer { close(client) }
        #expect(try await self.acceptOne(from: adopted) { self.option(IPPROTO_TCP, TCP_NODELAY, of: $0) } != 0)
    }

    @Test(arguments: ["none", "pipe", "datagrams", "not listening", "packets"])
    func otherDescriptorsAreRefusedAndLeftOpen(kind: String) throws {
        var pipes: [Int32] = [-1, -1]
        let descriptor: Int32
        switch kind {
        case "pipe":
            try #require(pipe(&pipes) == 0)
            descriptor = pipes[0]
        case "datagrams": descriptor = try self.makeSocket(AF_INET, SOCK_DGRAM)
        case "not listening": descriptor = try self.makeSocket(AF_INET, SOCK_STREAM)
        case "packets":
            descriptor = try self.makeSocket(AF_UNIX, SOCK_SEQPACKET)
            var family = sa_family_t(AF_UNIX)
            _ = withUnsafeBytes(of: &family) { bytes in
                bytes.withMemoryRebound(to: sockaddr.self) { bind(descriptor, $0.baseAddress, socklen_t(bytes.count)) }
            }
            try #require(listen(descriptor, 1) == 0)
        default: descriptor = -1
        }
        defer { for open in [descriptor, pipes[1]] { close(open) } }
        #expect(throws: SystemError.self) { try Listener(adopting: descriptor) }
        if descriptor >= 0 {
            #expect(fcntl(descriptor, F_GETFL) & O_NONBLOCK == 0)
        }
    }

    @Test func stoppedListenerLeavesWaitingClientsToTheNext() async throws {
        let socket = try self.makeSocket(AF_INET, SOCK_STREAM)
        try #require(listen(socket, 8) == 0)
        let first = try Listener(adopting: socket)
        let next = try Listener(adopting: try self.duplicate(of: socket))
        first.stop()
        let client = try ClientSocket.connect(to: first.address)
        defer { close(client) }
        let taken = try await withLoop { loop in
            var taken = 0
            await first.accept(on: loop) { descriptor in
                taken += 1
                close(descriptor)
            }
            return taken
        }
        // The first listener must not accept the connection, so that the next listener can accept
        // it.
        try #require(taken == 0)
        #expect(try await self.acceptOne(from: next) { fcntl($0, F_GETFD) & FD_CLOEXEC } != 0)
    }

    // MARK: - Steps

    /// Accepts the first connection that arrives. Returns the result of `body` for its descriptor.
    private func acceptOne(
        from listener: Listener,
        _ body: @escaping @Sendable (Int32) -> Int32
    ) async throws -> Int32? {
        try await withLoop { loop in
            var result: Int32?
            await listener.accept(on: loop) { descriptor in
                result = body(descriptor)
                close(descriptor)
                listener.stop()
            }
            return result
        }
    }

    private func makeSocket(_ family: Int32, _ type: __socket_type) throws -> Int32 {
        try SystemError.check("socket") { socket(family, Int32(type.rawValue), 0) }
    }

    private func duplicate(of socket: Int32) throws -> Int32 {
        try SystemError.check("dup") { dup(socket) }
    }

    private func option(_ level: Int, _ name: Int32, of socket: Int32) -> Int32 {
        var value: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(socket, Int32(level), name, &value, &length)
        return value
    }
}

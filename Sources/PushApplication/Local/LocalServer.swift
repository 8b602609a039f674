import Foundation
import Glibc
import Logging
import PushCore
import PushServer
import PushStore
import Reactor
import SocketHTTP

/// A router in the command's own process, on a database that no daemon has open. The command sends
/// its requests over a pair of sockets, so it works alike with and without a daemon.
struct LocalServer {
    private let store: any Store
    private let loops: EventLoopGroup
    private let server: HTTPServer

    /// Makes a server that owns the store; `whileServing` closes the store at its end. Throws
    /// `StoreError` or `SystemError`.
    init(_ configuration: Configuration, _ store: any Store) throws {
        let clock = configuration.makeClock()
        self.store = store
        self.loops = try EventLoopGroup(count: 1)
        // The audit records what the command does, so the command's user needs to see only
        // failures.
        let logger = configuration.makeLogger(threshold: LogThreshold(.error))
        var daemon = Daemon()
        daemon.version = Version.current
        daemon.acceptClock = {
            try await ClockService(
                clock: clock,
                file: configuration.clockFile,
                logger: logger,
                otherClock: { nil }
            ).accept(in: store, for: $0)
        }
        let router = PushServer(
            ServerParts(
                StoreAccess(
                    store,
                    readers: [try store.makeReader()],
                    reports: ReportReader(try store.makeReader()),
                    lists: ListPool([try store.makeReader()])
                ),
                authenticator: Authenticator(
                    store: store,
                    parameters: configuration.passwords,
                    workers: 1,
                    quotas: [:],
                    logger: logger
                ),
                settings: configuration.serverSettings(
                    // The rule of handles is never used, since commands register no devices.
                    configuration.senders.mapValues { .init(UnusedHandleRule(), receiver: $0.receiver) }
                ),
                signer: AnswerSigner(keys: SigningKeys(.random()), logger: logger),
                daemon: daemon,
                logger: logger,
                now: clock.now
            )
        )
        self.server = HTTPServer(
            listeners: [],
            loops: self.loops,
            limits: .local,
            responder: LocalAdministration(
                router,
                admits: LocalUser.isAdmitted,
                nameOf: LocalUser.name,
                logger: logger
            )
        )
    }

    /// Runs `body` with a connection to this server, and closes the database afterwards.
    func whileServing<Value>(_ body: (Administration) async throws -> Value) async throws -> Value {
        let (sockets, input) = AsyncStream.makeStream(of: Int32.self)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await self.serve(sockets) }
            let result: Result<Value, any Error>
            do {
                result = .success(try await body(Administration { try Self.connect(input) }))
            } catch {
                result = .failure(error)
            }
            input.finish()
            try await group.waitForAll()
            // The command has done its work, even if the number of its encryptions cannot be
            // stored.
            try? await self.store.writeSealCounts()
            await self.store.close()
            self.loops.stop()
            return try result.get()
        }
    }

    /// Serves the sockets of the command one after the other, in the order of its requests.
    private func serve(_ sockets: AsyncStream<Int32>) async {
        let loop = self.loops.loops[0]
        await withTaskExecutorPreference(loop) {
            for await socket in sockets {
                // `Descriptor` throws if the kernel has no memory for the socket, or cannot watch
                // a further descriptor. The socket is then closed, and the command notices the end
                // of the connection.
                guard let descriptor = try? Descriptor(socket, on: loop) else { continue }
                let peer = PeerAddress.process(user: geteuid())
                await self.server.serveConnection(SocketStream(descriptor), peer: peer, on: loop)
            }
        }
    }

    /// Passes one end of a pair of sockets to `serve`, and returns the other end.
    private static func connect(_ input: AsyncStream<Int32>.Continuation) throws -> Int32 {
        var pair: [Int32] = [-1, -1]
        try SystemError.check("socketpair") {
            socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &pair)
        }
        _ = fcntl(pair[1], F_SETFL, O_NONBLOCK)
        input.yield(pair[1])
        return pair[0]
    }
}

extension ServerLimits {
    /// The limits of the local admin socket, which only an operator's commands use.
    static let local = ServerLimits { $0.maxConnections = 64 }
}

/// A rule for handles that is never used, since commands register no devices.
private struct UnusedHandleRule: HandleRule {
    let isGuessable = false

    func address(_ handle: String) throws(HandleFlaw) -> String { handle }
}

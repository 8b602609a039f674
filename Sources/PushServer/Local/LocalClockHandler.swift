internal import Foundation
internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import SocketHTTP

/// Makes the server accept the machine's clock, which an operator has checked.
struct LocalClockHandler: Handler {
    let daemon: Daemon

    var routes: [Route] {
        [
            Route(.post, LocalPaths.clock, .atLeast(.admin, .manage)) { context in
                let time = try await self.daemon.acceptClock(try context.actor)
                return Response(
                    uncached: .object([.init("Accepted", time.map { .string($0.ISO8601Format()) } ?? .null)])
                )
            }
        ]
    }
}

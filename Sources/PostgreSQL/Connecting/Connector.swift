internal import Reactor

/// The state that all of a pool's attempts to connect share. Use it on the event loop only.
final class Connector {
    let address: DatabaseAddress
    let loop: EventLoop
    /// The timeout of one attempt.
    let limit: Duration
    let resolver: NameResolver
    /// The address that won the last race: its server was the first that accepted writes.
    var winner: Endpoint?
    /// Decides which servers may be used.
    let cluster: ClusterGuard
    /// Called with a timeline that is newer than all earlier timelines. From then on, only servers
    /// on this timeline may be used.
    var onAdvance: (_ timeline: UInt32) -> Void = { _ in }

    init(_ address: DatabaseAddress, on loop: EventLoop, limit: Duration, _ cluster: ClusterGuard) {
        self.address = address
        self.loop = loop
        self.limit = limit
        self.cluster = cluster
        self.resolver = NameResolver(on: loop)
    }

    /// Opens a connection to the first server that accepts writes. Calls the completion once,
    /// perhaps before this function returns. Until the completion is called, the caller must keep
    /// the returned race.
    func race(_ settings: SessionSettings, completion: @escaping ConnectAttempt.Completion) -> ConnectRace {
        ConnectRace(self, settings, completion: completion)
    }
}

internal import Reactor

/// What all attempts of a pool to connect share. On the loop only.
final class Connector {
    let address: DatabaseAddress
    let loop: EventLoop
    /// The longest that one attempt takes.
    let limit: Duration
    let resolver: NameResolver
    /// The address that took writes last.
    var winner: Endpoint?
    /// Which servers are used.
    let cluster: ClusterGuard
    /// Called with a timeline that is newer than all before, whose servers alone may be used from now on.
    var onAdvance: (_ timeline: UInt32) -> Void = { _ in }

    init(_ address: DatabaseAddress, on loop: EventLoop, limit: Duration, _ cluster: ClusterGuard) {
        self.address = address
        self.loop = loop
        self.limit = limit
        self.cluster = cluster
        self.resolver = NameResolver(on: loop)
    }

    /// Opens a connection to the first server that takes writes. The caller keeps the race until its completion, which is
    /// called once, maybe before this returns.
    func race(_ settings: SessionSettings, completion: @escaping ConnectAttempt.Completion) -> ConnectRace {
        ConnectRace(self, settings, completion: completion)
    }
}

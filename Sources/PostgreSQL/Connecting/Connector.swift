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

    init(_ address: DatabaseAddress, on loop: EventLoop, limit: Duration) {
        self.address = address
        self.loop = loop
        self.limit = limit
        self.resolver = NameResolver(on: loop)
    }

    /// Opens a connection to the first server that takes writes. The caller keeps the race until its completion, which is
    /// called once, maybe before this returns.
    func race(_ settings: SessionSettings, completion: @escaping ConnectAttempt.Completion) -> ConnectRace {
        ConnectRace(self, settings, completion: completion)
    }
}

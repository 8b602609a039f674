internal import CCurl
internal import Reactor

/// The pools of a client, and the choice between them. Use it on the loop only.
///
/// Each host has pools of its own, so that a failure at one host does not affect the other hosts.
/// A host has one pool for all its connections. With `provesConnections`, it has one pool for each
/// connection; the pool knows whether a first request on its connection was answered.
final class PoolSet {
    /// If there are more hosts, the connections of hosts without calls are closed.
    private static let maximumHosts = 64

    private let settings: HTTPClientSettings
    private let loop: EventLoop
    private let ended: (Transfer, CURLcode) -> Void
    private var pools: [Place: [ConnectionPool]] = [:]

    private struct Place: Hashable {
        let host: String
        let port: UInt16
    }

    init(_ settings: HTTPClientSettings, on loop: EventLoop, ended: @escaping (Transfer, CURLcode) -> Void) {
        self.settings = settings
        self.loop = loop
        self.ended = ended
    }

    /// The pool for the next call to a URL; `nil` if the call must wait until another call has
    /// ended.
    func next(for url: OutboundURL) -> ConnectionPool? {
        let place = Place(host: url.host, port: url.port)
        var pools = self.pools[place] ?? []
        if pools.contains(where: \.isUnusable) {
            for pool in pools where pool.isUnusable { pool.retire() }
            pools.removeAll(where: \.isUnusable)
            self.pools[place] = pools
        }
        if let pool = self.choice(among: pools) { return pool }
        guard pools.isEmpty || self.settings.provesConnections && pools.count < self.settings.connectionsPerHost else {
            return nil
        }
        if self.pools.count >= Self.maximumHosts { self.retireIdle() }
        let pool = ConnectionPool(self.settings, on: self.loop, ended: self.ended)
        self.pools[place, default: []].append(pool)
        return pool
    }

    /// Makes all further calls use new connections; calls in progress keep their connections until
    /// they end.
    func retire() {
        for pool in self.pools.values.joined() { pool.retire() }
        self.pools.removeAll()
    }

    private func choice(among pools: [ConnectionPool]) -> ConnectionPool? {
        guard self.settings.provesConnections else { return pools.first }
        return pools.first { $0.isProven && $0.transfers < self.settings.streamsPerConnection }
            ?? pools.first { !$0.isProven && $0.transfers == 0 }
    }

    private func retireIdle() {
        for (place, pools) in self.pools where pools.allSatisfy({ $0.transfers == 0 }) {
            for pool in pools { pool.retire() }
            self.pools[place] = nil
        }
    }
}

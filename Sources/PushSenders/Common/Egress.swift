package import CurlHTTP

/// The network route to the providers: direct, or through a proxy.
package struct Egress: Sendable, Hashable {
    /// The proxy; `nil` for direct connections.
    package var proxy: OutboundProxy?
    /// Whether calls to hosts that devices name go through the proxy, too. In that case only the
    /// proxy can check the addresses of these hosts, because it resolves their names. The list of
    /// allowed hosts applies in both cases.
    package var includesDeviceHosts: Bool

    package init(proxy: OutboundProxy? = nil, includesDeviceHosts: Bool = false) {
        self.proxy = proxy
        self.includesDeviceHosts = includesDeviceHosts
    }
}

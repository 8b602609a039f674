package import CurlHTTP

/// The route to the providers: direct or through a proxy.
package struct Egress: Sendable, Hashable {
    /// `nil` for direct connections.
    package var proxy: OutboundProxy?
    /// Whether calls to hosts that devices name go through the proxy, too. Only the proxy, which
    /// resolves their names, can then check their addresses; the list of allowed hosts applies in
    /// any case.
    package var includesDeviceHosts: Bool

    package init(proxy: OutboundProxy? = nil, includesDeviceHosts: Bool = false) {
        self.proxy = proxy
        self.includesDeviceHosts = includesDeviceHosts
    }
}

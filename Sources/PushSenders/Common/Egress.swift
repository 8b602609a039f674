package import CurlHTTP

/// The way out to the providers.
package struct Egress: Sendable, Hashable {
    /// `nil`: directly.
    package var proxy: OutboundProxy?
    /// Whether hosts that devices name are called through the proxy, too. Their addresses are then checked by nobody but
    /// the proxy, which resolves their names; the list of allowed hosts counts in any case.
    package var includesDeviceHosts: Bool

    package init(proxy: OutboundProxy? = nil, includesDeviceHosts: Bool = false) {
        self.proxy = proxy
        self.includesDeviceHosts = includesDeviceHosts
    }
}

/// The limits and permissions of a client.
package struct HTTPClientSettings: Sendable, Hashable {
    /// The maximum number of connections to one host; further calls wait for a free stream, until
    /// their deadline.
    package var connectionsPerHost: Int
    /// The maximum number of concurrent calls on one HTTP/2 connection; the peer's own limit
    /// applies too.
    package var streamsPerConnection: Int
    /// Whether a new connection carries only one call at a time until a call on it was answered
    /// with 200. Some peers allow no more before they have authenticated the client. Without
    /// HTTP/2, this setting has no effect.
    package var provesConnections: Bool
    /// The maximum number of calls in progress, including waiting calls; further calls fail at
    /// once.
    package var maximumCalls: Int
    package var maximumResponseBody: Int
    /// The maximum number of bytes of all header lines of an answer, informational answers and the
    /// trailer included.
    package var maximumResponseHeader: Int
    package var connectTimeout: Duration
    /// The path of a unix socket. If it is set, all calls go to this socket, whatever host their
    /// URL names and whatever `addresses` says.
    package var unixSocket: String?
    /// Whether a server must prove with its certificate that it is the host of the URL. `false` is
    /// safe only for calls to this machine itself that send no secret.
    package var verifiesServers: Bool
    /// The file with PEM certificates that are trusted instead of the system's; `nil` if the
    /// system's are trusted.
    package var caFile: String?
    package var allowsPlainHTTP: Bool
    /// The hosts that may be called; `nil` allows every host.
    package var allowedHosts: [HostPattern]?
    /// The addresses that the client may connect to. If there is a proxy, this setting concerns
    /// the proxy's address only; the proxy itself must check the addresses of the hosts.
    package var addresses: AddressPolicy
    /// The proxy of all calls; `nil` if calls go to their hosts directly.
    package var proxy: OutboundProxy?

    package init(
        connectionsPerHost: Int = 1,
        streamsPerConnection: Int = 100,
        provesConnections: Bool = false,
        maximumCalls: Int = 4096,
        maximumResponseBody: Int = 65536,
        maximumResponseHeader: Int = 16384,
        connectTimeout: Duration = .seconds(10),
        unixSocket: String? = nil,
        verifiesServers: Bool = true,
        caFile: String? = nil,
        allowsPlainHTTP: Bool = false,
        allowedHosts: [HostPattern]? = nil,
        addresses: AddressPolicy = .globalOnly,
        proxy: OutboundProxy? = nil
    ) {
        self.connectionsPerHost = connectionsPerHost
        self.streamsPerConnection = streamsPerConnection
        self.provesConnections = provesConnections
        self.maximumCalls = maximumCalls
        self.maximumResponseBody = maximumResponseBody
        self.maximumResponseHeader = maximumResponseHeader
        self.connectTimeout = connectTimeout
        self.unixSocket = unixSocket
        self.verifiesServers = verifiesServers
        self.caFile = caFile
        self.allowsPlainHTTP = allowsPlainHTTP
        self.allowedHosts = allowedHosts
        self.addresses = addresses
        self.proxy = proxy
    }
}

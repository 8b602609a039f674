/// The limits and permissions of a client.
package struct HTTPClientSettings: Sendable, Hashable {
    /// The maximum number of connections to one host; further calls wait for a free stream, until
    /// their deadline.
    package var connectionsPerHost = 1
    /// The maximum number of concurrent calls on one HTTP/2 connection; the peer's own limit
    /// applies too.
    package var streamsPerConnection = 100
    /// Whether a new connection carries only one call at a time until a call on it was answered
    /// with 200. Some peers allow no more before they have authenticated the client. Without
    /// HTTP/2, this setting has no effect.
    package var provesConnections = false
    /// The maximum number of calls in progress, including waiting calls; further calls fail at
    /// once.
    package var maximumCalls = 4096
    package var maximumResponseBody = 65536
    /// The maximum number of bytes of all header lines of an answer, informational answers and the
    /// trailer included.
    package var maximumResponseHeader = 16384
    package var connectTimeout = Duration.seconds(10)
    /// The path of a unix socket. If it is set, all calls go to this socket, whatever host their
    /// URL names and whatever `addresses` says.
    package var unixSocket: String?
    /// Whether a server must prove with its certificate that it is the host of the URL. `false` is
    /// safe only for calls to this machine itself that send no secret.
    package var verifiesServers = true
    /// The file with PEM certificates that are trusted instead of the system's; `nil` if the
    /// system's are trusted.
    package var caFile: String?
    package var allowsPlainHTTP = false
    /// The hosts that may be called; `nil` allows every host.
    package var allowedHosts: [HostPattern]?
    /// The addresses that the client may connect to. If there is a proxy, this setting concerns
    /// the proxy's address only; the proxy itself must check the addresses of the hosts.
    package var addresses: AddressPolicy = .globalOnly
    /// The proxy of all calls; `nil` if calls go to their hosts directly.
    package var proxy: OutboundProxy?

    /// The defaults with the changes that the closure makes.
    package init(_ change: (inout Self) -> Void = { _ in }) { change(&self) }
}

/// Limits on a client's connections, sizes and times; fixed for the life of a connection.
package struct ServerLimits: Sendable, Hashable {
    /// Connections in total. One more is closed: with 503, or without an answer if that would need
    /// a TLS handshake.
    package var maxConnections: Int
    /// Connections from one address, for IPv6 from one /64. Trusted proxies and local sockets have
    /// no such limit.
    package var maxConnectionsPerAddress: Int
    /// The length of the request target, checked before it is parsed. Beyond it, the client gets
    /// 414.
    package var targetBytes: Int
    /// The length of request line and fields, and of the trailer of a chunked body. Beyond it, the
    /// client gets 431.
    package var headerBytes: Int
    /// The number of field lines. Beyond it, the client gets 431.
    package var headerCount: Int
    /// The size of the body, unless the handler asks for another limit. Beyond it, the client gets
    /// 413.
    package var bodyBytes: Int
    /// The time from the start of the connection, or from the first byte of a request, to the end
    /// of the request's fields.
    package var headerTimeout: Duration
    /// The time from the handler's request for the body to the end of the body.
    package var bodyTimeout: Duration
    /// The time for a handler, restarted after each wait for the body. Beyond it, the client gets
    /// 503.
    package var handlerTimeout: Duration
    /// The time between two requests of a connection.
    package var idleTimeout: Duration
    /// The time for one write: the head with a short body, a longer body, or one piece of a
    /// streaming body.
    package var writeTimeout: Duration
    /// After this many requests the connection is closed, so that load spreads again over loops
    /// and processes.
    package var requestsPerConnection: Int

    package init(
        maxConnections: Int = 20_000,
        maxConnectionsPerAddress: Int = 5000,
        targetBytes: Int = 8192,
        headerBytes: Int = 16_384,
        headerCount: Int = 100,
        bodyBytes: Int = 262_144,
        headerTimeout: Duration = .seconds(10),
        bodyTimeout: Duration = .seconds(30),
        handlerTimeout: Duration = .seconds(30),
        idleTimeout: Duration = .seconds(75),
        writeTimeout: Duration = .seconds(30),
        requestsPerConnection: Int = 1_000_000
    ) {
        self.maxConnections = maxConnections
        self.maxConnectionsPerAddress = maxConnectionsPerAddress
        self.targetBytes = targetBytes
        self.headerBytes = headerBytes
        self.headerCount = headerCount
        self.bodyBytes = bodyBytes
        self.headerTimeout = headerTimeout
        self.bodyTimeout = bodyTimeout
        self.handlerTimeout = handlerTimeout
        self.idleTimeout = idleTimeout
        self.writeTimeout = writeTimeout
        self.requestsPerConnection = requestsPerConnection
    }
}

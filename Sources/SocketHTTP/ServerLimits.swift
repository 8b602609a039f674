/// Limits on the number of connections, on the sizes of requests, and on the times of requests and
/// answers. A connection keeps the limits that were valid when it began.
package struct ServerLimits: Sendable, Hashable {
    /// The maximum number of connections in total. The server answers a further connection with
    /// 503 and closes it. If that answer would need a TLS handshake, the client gets no answer.
    package var maxConnections: Int
    /// The maximum number of connections from one IPv4 address, or from one IPv6 network of 64
    /// bits. Trusted proxies and local sockets have no such limit.
    package var maxConnectionsPerAddress: Int
    /// The maximum length of the request target in bytes, which is checked before the target is
    /// parsed. If the target is longer, the client gets 414.
    package var targetBytes: Int
    /// The maximum length in bytes of the request line and fields together, and also of the
    /// trailer of a chunked body. If they are longer, the client gets 431.
    package var headerBytes: Int
    /// The maximum number of field lines. If a request has more, the client gets 431.
    package var headerCount: Int
    /// The maximum size of a request's body in bytes, unless the handler sets another limit. If
    /// the body is larger, the client gets 413.
    package var bodyBytes: Int
    /// The maximum time from the start of the connection, or from the first byte of a request, to
    /// the end of the request's fields.
    package var headerTimeout: Duration
    /// The maximum time from the handler's request for the body to the end of the body.
    package var bodyTimeout: Duration
    /// The maximum time for a handler. It begins again after each wait for the body. After this
    /// time the client gets 503.
    package var handlerTimeout: Duration
    /// The maximum time between two requests on one connection.
    package var idleTimeout: Duration
    /// The maximum time for one write: the head with a short body, a longer body, or one piece of
    /// a streaming body.
    package var writeTimeout: Duration
    /// The number of requests after which the server closes a connection. Clients then connect
    /// again, which distributes the load over event loops and processes.
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

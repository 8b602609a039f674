/// Limits on the number of connections, on the sizes of requests, and on the times of requests and
/// answers. A connection keeps the limits that were valid when it began.
package struct ServerLimits: Sendable, Hashable {
    /// The maximum number of connections in total. The server answers a further connection with
    /// 503 and closes it. If that answer would need a TLS handshake, the client gets no answer.
    package var maxConnections = 20_000
    /// The maximum number of connections from one IPv4 address, or from one IPv6 network of 64
    /// bits. Trusted proxies and local sockets have no such limit.
    package var maxConnectionsPerAddress = 5000
    /// The maximum length of the request target in bytes, which is checked before the target is
    /// parsed. If the target is longer, the client gets 414.
    package var targetBytes = 8192
    /// The maximum length in bytes of the request line and fields together, and also of the
    /// trailer of a chunked body. If they are longer, the client gets 431.
    package var headerBytes = 16_384
    /// The maximum number of field lines. If a request has more, the client gets 431.
    package var headerCount = 100
    /// The maximum size of a request's body in bytes, unless the handler sets another limit. If
    /// the body is larger, the client gets 413.
    package var bodyBytes = 262_144
    /// The maximum time from the start of the connection, or from the first byte of a request, to
    /// the end of the request's fields.
    package var headerTimeout = Duration.seconds(10)
    /// The maximum time from the handler's request for the body to the end of the body.
    package var bodyTimeout = Duration.seconds(30)
    /// The maximum time for a handler. It begins again after each wait for the body. After this
    /// time the client gets 503.
    package var handlerTimeout = Duration.seconds(30)
    /// The maximum time between two requests on one connection.
    package var idleTimeout = Duration.seconds(75)
    /// The maximum time for one write: the head with a short body, a longer body, or one piece of
    /// a streaming body.
    package var writeTimeout = Duration.seconds(30)
    /// The number of requests after which the server closes a connection. Clients then connect
    /// again, which distributes the load over event loops and processes.
    package var requestsPerConnection = 1_000_000

    /// The defaults with the changes that the closure makes.
    package init(_ change: (inout Self) -> Void = { _ in }) { change(&self) }
}

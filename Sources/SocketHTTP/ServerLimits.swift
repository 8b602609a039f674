/// How much a client may ask for, and how long it may take; none of it is negotiable at run time.
package struct ServerLimits: Sendable, Hashable {
    /// Connections in all; one more is told 503 and closed.
    package var maxConnections: Int
    /// The request target, before which there is no asking what it means: 414.
    package var targetBytes: Int
    /// Request line and fields together, and the trailer of a chunked body: 431.
    package var headerBytes: Int
    /// Field lines: 431.
    package var headerCount: Int
    /// The body, unless the handler asks for another bound: 413.
    package var bodyBytes: Int
    /// From the connection or the first byte of a request to the end of its fields.
    package var headerTimeout: Duration
    /// From asking for the body to its end.
    package var bodyTimeout: Duration
    /// Between requests.
    package var idleTimeout: Duration
    /// From the first byte of a response to its last.
    package var writeTimeout: Duration
    /// After so many the connection is closed, so that load spreads again over loops and processes.
    package var requestsPerConnection: Int

    package init(
        maxConnections: Int = 20_000,
        targetBytes: Int = 8192,
        headerBytes: Int = 16_384,
        headerCount: Int = 100,
        bodyBytes: Int = 131_072,
        headerTimeout: Duration = .seconds(10),
        bodyTimeout: Duration = .seconds(30),
        idleTimeout: Duration = .seconds(75),
        writeTimeout: Duration = .seconds(30),
        requestsPerConnection: Int = 1_000_000
    ) {
        self.maxConnections = maxConnections
        self.targetBytes = targetBytes
        self.headerBytes = headerBytes
        self.headerCount = headerCount
        self.bodyBytes = bodyBytes
        self.headerTimeout = headerTimeout
        self.bodyTimeout = bodyTimeout
        self.idleTimeout = idleTimeout
        self.writeTimeout = writeTimeout
        self.requestsPerConnection = requestsPerConnection
    }
}

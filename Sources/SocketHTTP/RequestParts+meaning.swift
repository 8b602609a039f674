internal import HTTPTypes

extension RequestParts {
    /// Reads the host, the body's framing and the expectation from the fields. Refuses fields that
    /// contradict each other.
    ///
    /// `bytes` has the same content as `self.bytes`: a mutating function cannot use the span of
    /// its own property.
    mutating func interpret(_ bytes: Span<UInt8>) throws(Refusal) {
        self.keepsAlive = !self.isVersion10
        self.expectsContinue = false
        self.body = .none
        self.body = try self.framing(bytes)
        try self.readHost(bytes)
        try self.readExpectation(bytes)
        self.readConnection(bytes)
        guard Self.implementedMethods.contains(self.method) else { throw .notImplemented }
    }

    /// Requires exactly one valid `Host`; only HTTP/1.0 may leave it out (RFC 9112 §3.2).
    private mutating func readHost(_ bytes: Span<UInt8>) throws(Refusal) {
        for line in self.lines where bytes.equals(line.name, anyCase: "host") {
            guard self.host == nil else { throw .badRequest("The Host field appears more than once.") }
            guard Authority.isValid(bytes, line.value) else { throw .badRequest("Host is invalid.") }
            self.host = line.value
        }
        guard self.host != nil || self.isVersion10 else { throw .badRequest("Host is missing.") }
    }

    /// Reads the field `Expect`. RFC 9110 §10.1.1 defines a single value for it. HTTP/1.0 has no
    /// such field, and a client without a body has nothing to wait for.
    private mutating func readExpectation(_ bytes: Span<UInt8>) throws(Refusal) {
        guard !self.isVersion10 else { return }
        for line in self.lines where bytes.equals(line.name, anyCase: "expect") {
            guard bytes.equals(line.value, anyCase: "100-continue") else { throw .expectationFailed }
            self.expectsContinue = self.body != .none
        }
    }

    private mutating func readConnection(_ bytes: Span<UInt8>) {
        var closes = false
        for line in self.lines where bytes.equals(line.name, anyCase: "connection") {
            for option in bytes.listElements(line.value) {
                if bytes.equals(option, anyCase: "close") { closes = true }
                if bytes.equals(option, anyCase: "keep-alive") { self.keepsAlive = true }
            }
        }
        if closes { self.keepsAlive = false }
    }

    private static let implementedMethods: [HTTPRequest.Method] = [
        .get, .head, .post, .put, .patch, .delete, .options, .trace,
    ]
}

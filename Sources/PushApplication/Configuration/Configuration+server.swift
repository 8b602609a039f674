import PushServer
import Reactor
import SocketHTTP

extension Configuration {
    /// Reads the section `server`. Throws `ConfigurationError` for a bad value.
    mutating func readServer(_ section: ConfigurationSection) throws {
        self.listen =
            try section.strings("listen")?.map { text in
                guard let address = SocketAddress.listening(at: text) else {
                    throw section.error(
                        "listen",
                        nil,
                        "\"\(text)\" must be a numeric address and a port, a port alone, or unix: and a path"
                    )
                }
                return "\(address)"
            } ?? self.listen
        guard !self.listen.isEmpty else {
            throw section.error("listen", nil, "needs at least one address, such as 127.0.0.1:8080")
        }
        try section.integer("loops", in: 1...1024, into: &self.loops)
        try section.strings("trustedProxies", into: &self.trustedProxies)
        for proxy in self.trustedProxies where proxy != "unix" && IPNetwork(proxy) == nil {
            throw section.error(
                "trustedProxies",
                nil,
                "\"\(proxy)\" must be an address, a CIDR block without host bits, such as 10.0.0.0/8, or unix"
            )
        }
        let fields = TrustedProxies.Field.allCases.map(\.rawValue)
        try section.string("forwardedField", oneOf: fields, into: &self.forwardedField)
        try section.bool("proxyProtocol", into: &self.readsProxyHeaders)
        guard !self.readsProxyHeaders || !self.trustedProxies.isEmpty else {
            throw section.error("proxyProtocol", nil, "it needs trustedProxies, which is empty")
        }
        if let name = try section.string("identityHeader") {
            self.server.identityField = IdentityField(name)
            guard self.server.identityField != nil else {
                throw section.error("identityHeader", nil, "\"\(name)\" is not a valid field name")
            }
            guard !self.trustedProxies.isEmpty else {
                throw section.error("identityHeader", nil, "it needs trustedProxies, which is empty")
            }
        }
        self.server.names = try Set(
            (section.strings("names") ?? []).map { text in
                // An IPv6 address has its colons in brackets; a colon elsewhere begins a port.
                guard let host = WebOrigin("http://\(text)")?.host, host == text.lowercased() else {
                    throw section.error(
                        "names",
                        nil,
                        "\"\(text)\" must be a host without scheme, port or wildcard, such as push.example.com"
                    )
                }
                return host
            }
        )
        self.server.allowedOrigins = try Set(
            (section.strings("allowedOrigins") ?? []).map { text in
                guard let origin = WebOrigin(text) else {
                    throw section.error(
                        "allowedOrigins",
                        nil,
                        "\"\(text)\" must be a scheme, a host and an optional port, such as https://app.example, without path or wildcard"
                    )
                }
                return origin
            }
        )
        self.tls = try TLS(section.section("tls"))
        try section.section("limits") { try self.limits.read($0) }
    }
}

extension ServerLimits {
    fileprivate mutating func read(_ section: ConfigurationSection) throws {
        try section.integer("maxConnections", in: 1...1_000_000, into: &self.maxConnections)
        try section.integer("maxConnectionsPerAddress", in: 1...1_000_000, into: &self.maxConnectionsPerAddress)
        try section.integer("headerBytes", in: 1024...1_048_576, into: &self.headerBytes)
        try section.integer("bodyBytes", in: 1024...16_777_216, into: &self.bodyBytes)
        try section.seconds("headerTimeout", into: &self.headerTimeout)
        try section.seconds("bodyTimeout", into: &self.bodyTimeout)
        try section.seconds("writeTimeout", into: &self.writeTimeout)
        try section.seconds("idleTimeout", into: &self.idleTimeout)
    }
}

extension Configuration.TLS {
    /// Reads the section `server.tls`; `nil` if the section is empty.
    fileprivate init?(_ section: ConfigurationSection) throws {
        let additional = try section.sections("additional").map { try Identity($0) }
        let clientCA = try section.string("clientCA")
        let clientCRL = try section.string("clientCRL")
        if clientCRL != nil, clientCA == nil {
            throw section.error("clientCRL", nil, "has no meaning without clientCA")
        }
        // The maximum is two years: browsers' preload lists ask for this duration.
        let hsts = try section.wholeSeconds("hsts", in: 0...63_072_000)
        let files = try [section.string("certificate"), section.string("privateKey"), clientCA]
        try section.finish()
        if additional.isEmpty, hsts == nil, files.allSatisfy({ $0 == nil }) { return nil }
        self.init(
            identity: try Identity(section),
            additional: additional,
            clientCA: clientCA,
            clientCRL: clientCRL,
            hsts: hsts
        )
    }
}

extension Configuration.TLS.Identity {
    fileprivate init(_ section: ConfigurationSection) throws {
        self.init(
            certificate: try section.requiredString("certificate"),
            privateKey: try section.requiredString("privateKey")
        )
        try section.finish()
    }
}

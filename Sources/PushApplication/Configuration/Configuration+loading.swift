import Foundation
import PushCore
import PushServer
package import PushStore
import Reactor
import SocketHTTP
import Yams

extension Configuration {
    /// Reads a file, or uses the defaults without one, and then applies the environment.
    ///
    /// `place` makes the location of the store from the text of `database`. Throws
    /// `ConfigurationError` for an unknown key or a bad value.
    package static func load(
        file: String?,
        environment: [String: String],
        place: @escaping @Sendable (_ database: String) -> any StorePlace
    ) throws -> Configuration {
        let source = try ConfigurationSource(file: file, environment: environment)
        let root = ConfigurationSection(source: source, path: [], node: source.root)
        var configuration = Configuration()
        configuration.place = place
        try configuration.readServer(root.section("server"))
        try configuration.readNotifications(root.section("notifications"))
        try configuration.readLog(root.section("log"))
        let cache = try root.section("cache")
        configuration.cacheMaxAge = try cache.wholeSeconds("maxAge", in: 0...31_536_000) ?? configuration.cacheMaxAge
        try cache.finish()
        configuration.localSocket = try LocalSocket(root.section("admin"))
        let sessions = try root.section("sessions")
        configuration.sessionExpiresIn =
            try sessions.wholeSeconds("expiresIn", in: 60...31_536_000) ?? configuration.sessionExpiresIn
        try sessions.finish()
        let signIn = try root.section("signIn")
        configuration.oidc = try OIDC(signIn.section("oidc"))
        try signIn.finish()
        let audit = try root.section("audit")
        if let keep = try audit.wholeSeconds("keep", in: 86_400...3_153_600_000) {
            configuration.auditKept = .seconds(keep)
        }
        try audit.finish()
        configuration.events = try Events(root.section("events"))
        try configuration.readPasswords(root.section("passwords"))
        try configuration.readQuotas(root.section("quotas"))
        try configuration.readStorage(root.section("storage"))
        try configuration.readTags(root.section("tags"))
        configuration.database = try root.nonEmptyString("database") ?? configuration.database
        if let fault = configuration.storePlace.fault { throw root.error("database", nil, fault) }
        configuration.keys = try root.nonEmptyString("keys") ?? configuration.keys
        if configuration.keys.count > 1, configuration.keys.hasSuffix("/") { configuration.keys.removeLast() }
        let stream = try root.section("stream")
        configuration.streamHeartbeat = try stream.seconds("heartbeat") ?? configuration.streamHeartbeat
        try stream.finish()
        configuration.alerts = try AlertPolicy(root.section("alerts"))
        configuration.proxy = try Proxy(root.section("proxy"))
        let senders = try root.section("senders")
        if !senders.senderNames.isEmpty { configuration.senders = [:] }
        try configuration.readSenders(senders, of: .usual)
        try configuration.readApps(root.section("apps"))
        // The usual place stays the usual one when the file names it.
        if configuration.localSocket == .at(configuration.usualAdminSocket.path) { configuration.localSocket = .beside }
        try root.finish()
        try source.finish()
        configuration.values = source.values
        return configuration
    }

    private mutating func readApps(_ section: ConfigurationSection) throws {
        let names = section.names { end in
            // The type of a sender makes the app, too.
            end.hasSuffix("_TYPE") ? end.firstRange(of: "_SENDERS_").map { end[..<$0.lowerBound] } : nil
        }
        for name in names {
            guard let app = AppName(name), app != .usual else {
                throw section.error(name, nil, "an app's name must be 1 to 64 of a-z, 0-9, - and _, and not default")
            }
            let own = try section.section(name)
            let senders = try own.section("senders")
            if senders.senderNames.isEmpty { throw own.error("senders", nil, "an app needs a sender") }
            try self.readSenders(senders, of: app)
            try own.finish()
        }
    }

    private mutating func readSenders(_ section: ConfigurationSection, of app: AppName) throws {
        for name in section.senderNames {
            let own = try section.section(name)
            let platform = Platform(name, of: app)
            if try own.bool("direct") == true { self.directSenders.insert(platform) }
            self.senders[platform] = try SenderConfiguration(own, name: name, keys: self.keys)
        }
    }

    private mutating func readServer(_ section: ConfigurationSection) throws {
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
        self.loops = try section.integer("loops", in: 1...1024) ?? self.loops
        self.trustedProxies = try section.strings("trustedProxies") ?? self.trustedProxies
        for proxy in self.trustedProxies where proxy != "unix" && IPNetwork(proxy) == nil {
            throw section.error(
                "trustedProxies",
                nil,
                "\"\(proxy)\" must be an address, a CIDR block without host bits, such as 10.0.0.0/8, or unix"
            )
        }
        let fields = TrustedProxies.Field.allCases.map(\.rawValue)
        self.forwardedField = try section.string("forwardedField", oneOf: fields) ?? self.forwardedField
        self.readsProxyHeaders = try section.bool("proxyProtocol") ?? self.readsProxyHeaders
        guard !self.readsProxyHeaders || !self.trustedProxies.isEmpty else {
            throw section.error("proxyProtocol", nil, "it needs trustedProxies, which is empty")
        }
        self.identityHeader = try section.string("identityHeader")
        if let identityHeader {
            guard IdentityField(identityHeader) != nil else {
                throw section.error("identityHeader", nil, "\"\(identityHeader)\" is not a valid field name")
            }
            guard !self.trustedProxies.isEmpty else {
                throw section.error("identityHeader", nil, "it needs trustedProxies, which is empty")
            }
        }
        self.names = try (section.strings("names") ?? []).map { text in
            // The colons of an address are in brackets.
            guard let host = WebOrigin("http://\(text)")?.host, host == text.lowercased() else {
                throw section.error(
                    "names",
                    nil,
                    "\"\(text)\" must be a host without scheme, port or wildcard, such as push.example.com"
                )
            }
            return host
        }
        self.allowedOrigins = try (section.strings("allowedOrigins") ?? []).map { text in
            guard let origin = WebOrigin(text) else {
                throw section.error(
                    "allowedOrigins",
                    nil,
                    "\"\(text)\" must be a scheme, a host and an optional port, such as https://app.example, without path or wildcard"
                )
            }
            return origin
        }
        self.tls = try TLS(section.section("tls"))
        let limits = try section.section("limits")
        try self.limits.read(limits)
        try section.finish()
    }

    private mutating func readPasswords(_ section: ConfigurationSection) throws {
        let usual = PasswordParameters.usual
        let parameters = PasswordParameters(
            memory: try section.integer("memory", in: PasswordParameters.memoryBounds) ?? usual.memory,
            passes: try section.integer("passes", in: PasswordParameters.passesBounds) ?? usual.passes,
            lanes: usual.lanes
        )
        guard let parameters, parameters.isStrongEnough else {
            throw section.error(
                "memory",
                nil,
                "must be at least 19456 with 2 passes; or 47104 with 1, 12288 with 3, 9216 with 4, 7168 with 5"
            )
        }
        self.passwords = parameters
        try section.finish()
    }

    private mutating func readNotifications(_ section: ConfigurationSection) throws {
        self.emptyPayload = try section.string("emptyPayload") ?? self.emptyPayload
        self.maximumPayload = try section.integer("maxPayload", in: 1...1_048_576) ?? self.maximumPayload
        self.maximumBatch = try section.integer("maxBatch", in: 1024...67_108_864) ?? self.maximumBatch
        self.expiresIn = try section.wholeSeconds("expiresIn", in: 1...31_536_000) ?? self.expiresIn
        try section.finish()
    }

    private mutating func readQuotas(_ section: ConfigurationSection) throws {
        for role in Role.allCases {
            guard try !section.isNullSection(role.rawValue) else {
                self.quotas[role] = nil
                continue
            }
            let quota = try section.section(role.rawValue)
            let (requests, window) = (self.quotas[role]?.requests ?? 1, self.quotas[role]?.window ?? 60)
            let changes = try quota.integerOrNull("changes", in: Quota.changeRange)
            self.quotas[role] = Quota(
                requests: try quota.integer("requests", in: Quota.requestRange) ?? requests,
                window: try quota.wholeSeconds("window", in: Quota.windowRange) ?? window,
                changes: changes ?? self.quotas[role]?.changes
            )
            try quota.finish()
        }
        try section.finish()
    }

    private mutating func readStorage(_ section: ConfigurationSection) throws {
        for role in Role.allCases {
            guard try !section.isNullSection(role.rawValue) else {
                self.storage[role] = nil
                continue
            }
            let own = try section.section(role.rawValue)
            let usual = self.storage[role]
            self.storage[role] = StorageBounds(
                devices: try own.integer("devices", in: StorageBounds.deviceRange) ?? usual?.devices ?? 1,
                notifications: try own.integer("notifications", in: StorageBounds.notificationRange)
                    ?? usual?.notifications ?? 1,
                bytes: try own.integer("bytes", in: StorageBounds.byteRange) ?? usual?.bytes ?? 1
            )
            try own.finish()
        }
        try section.finish()
    }

    private mutating func readTags(_ section: ConfigurationSection) throws {
        let reserved = try section.strings("reserved") ?? self.tags.reserved
        for prefix in reserved where Tag(prefix) == nil {
            throw section.error("reserved", nil, "\"\(prefix)\" must be \(Tag.rule)")
        }
        self.tags = TagPolicy(reserved: reserved, isOpen: try section.bool("open") ?? self.tags.isOpen)
        try section.finish()
    }

    private mutating func readLog(_ section: ConfigurationSection) throws {
        let levels = ["trace", "debug", "info", "notice", "warning", "error", "critical"]
        self.logLevel = try section.string("level", oneOf: levels) ?? self.logLevel
        self.logFormat = try section.string("format", oneOf: ["text", "json"]) ?? self.logFormat
        self.logFile = try section.nonEmptyString("file")
        self.loggedRequests = try section.integer("requests", in: 0...1_000_000_000) ?? self.loggedRequests
        try section.finish()
    }
}

extension ConfigurationSection {
    /// The names of senders. In the environment, a sender needs its type.
    fileprivate var senderNames: [String] { self.names { $0.hasSuffix("_TYPE") ? $0.dropLast(5) : nil } }
}

extension Configuration.LocalSocket {
    fileprivate init(_ section: ConfigurationSection) throws {
        if let path = try section.string("socket") {
            guard SocketAddress("unix:\(path)") != nil else {
                throw section.error("socket", nil, "\"\(path)\" must be a path of 1 to 107 bytes")
            }
            self = .at(path)
        } else {
            self = section.isNull("socket") ? .off : .beside
        }
        try section.finish()
    }
}

extension ServerLimits {
    fileprivate mutating func read(_ section: ConfigurationSection) throws {
        self.maxConnections = try section.integer("maxConnections", in: 1...1_000_000) ?? self.maxConnections
        self.maxConnectionsPerAddress =
            try section.integer("maxConnectionsPerAddress", in: 1...1_000_000) ?? self.maxConnectionsPerAddress
        self.headerBytes = try section.integer("headerBytes", in: 1024...1_048_576) ?? self.headerBytes
        self.bodyBytes = try section.integer("bodyBytes", in: 1024...16_777_216) ?? self.bodyBytes
        self.headerTimeout = try section.seconds("headerTimeout") ?? self.headerTimeout
        self.bodyTimeout = try section.seconds("bodyTimeout") ?? self.bodyTimeout
        self.writeTimeout = try section.seconds("writeTimeout") ?? self.writeTimeout
        self.idleTimeout = try section.seconds("idleTimeout") ?? self.idleTimeout
        try section.finish()
    }
}

extension Configuration.TLS {
    /// `nil` if the section is empty.
    fileprivate init?(_ section: ConfigurationSection) throws {
        let additional = try section.sections("additional").map { try Identity($0) }
        let clientCA = try section.string("clientCA")
        let clientCRL = try section.string("clientCRL")
        if clientCRL != nil, clientCA == nil {
            throw section.error("clientCRL", nil, "has no meaning without clientCA")
        }
        // Two years at most, the duration that browsers' own lists ask for.
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

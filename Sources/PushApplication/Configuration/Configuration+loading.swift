import Foundation
import PushCore
import PushServer
package import PushStore
import Reactor
import Yams

extension Configuration {
    /// Reads a file, or uses the defaults if `file` is `nil`, and then applies the environment.
    ///
    /// `place` makes the location of the store from the value of the key `database`. Throws
    /// `ConfigurationError` for an unknown key or a bad value.
    package static func load(
        file: String?,
        environment: [String: String],
        place: @escaping @Sendable (_ database: String) -> any StorePlace
    ) throws -> Configuration {
        let source = try ConfigurationSource(file: file, environment: environment)
        var configuration = Configuration()
        configuration.place = place
        try configuration.read(ConfigurationSection(source: source, path: [], node: source.root), environment)
        try source.finish()
        configuration.values = source.values
        return configuration
    }

    private mutating func read(_ root: ConfigurationSection, _ environment: [String: String]) throws {
        try root.section("server") { try self.readServer($0) }
        try root.nonEmptyString("database", into: &self.database)
        if let fault = self.storePlace.fault { throw root.error("database", nil, fault) }
        try root.nonEmptyString("keys", into: &self.keys)
        if self.keys.count > 1, self.keys.hasSuffix("/") { self.keys.removeLast() }
        if PrivateFile.isFile(self.keys) { throw root.error("keys", nil, "\(self.keys) is a file; name a folder") }
        self.localSocket = try root.section("admin") { try LocalSocket($0) }
        // A file that sets `admin.socket` to the default path means the same as a file without
        // this key.
        if self.localSocket == .at(self.usualAdminSocket.path) { self.localSocket = .beside }
        try root.section("log") { try self.readLog($0) }
        try root.section("notifications") { section in
            try section.string("emptyPayload", into: &self.server.emptyPayload)
            try section.integer("maxPayload", in: 1...1_048_576, into: &self.server.maximumPayload)
            try section.integer("maxBatch", in: 1024...67_108_864, into: &self.server.maximumBatch)
            try section.seconds("expiresIn", into: &self.server.lifetime)
            for name in try section.strings("endToEndApps") ?? [] {
                guard let app = AppName(name) else {
                    throw section.error("endToEndApps", nil, "\"\(name)\" must be 1 to 64 of a-z, 0-9, - and _")
                }
                self.server.endToEndApps.insert(app)
            }
        }
        try root.section("cache") { try $0.seconds("maxAge", in: 0...31_536_000, into: &self.server.cacheMaxAge) }
        self.passwords = try root.section("passwords") { try PasswordParameters($0) }
        try root.section("sessions") {
            try $0.seconds("expiresIn", in: 60...31_536_000, into: &self.server.sessionLifetime)
        }
        self.oidc = try root.section("signIn") { try OIDC($0.section("oidc")) }
        try root.section("audit") { try $0.seconds("keep", in: 86_400...3_153_600_000, into: &self.auditKept) }
        self.events = try Events(root.section("events"))
        try root.section("quotas") { try self.readQuotas($0) }
        try root.section("storage") { try self.readStorage($0) }
        self.server.tags = try root.section("tags") { try TagPolicy($0) }
        try root.section("stream") { try $0.seconds("heartbeat", into: &self.server.streamHeartbeat) }
        self.server.alerts = try AlertPolicy(root.section("alerts"))
        self.proxy = try Proxy(root.section("proxy"))
        self.tracing = try Tracing(root.section("tracing"), environment: environment, fault: &self.tracingFault)
        try root.section("senders") { section in
            // `null` disables the sender of event streams, which is configured by default.
            if try section.isNullSection("stream") { self.senders = [:] }
            try self.readSenders(section, of: .usual)
        }
        try root.section("apps") { try self.readApps($0) }
        if let app = self.server.endToEndApps.subtracting(self.apps).map(\.description).min() {
            throw root.error("notifications", nil, "endToEndApps: the app \(app) is not in apps")
        }
        try root.finish()
    }

    private mutating func readApps(_ section: ConfigurationSection) throws {
        // A variable that configures a sender of an app also adds that app.
        for name in section.names({ end in end.firstRange(of: "_SENDERS_").map { end[..<$0.lowerBound] } }) {
            guard let app = AppName(name), app != .usual else {
                throw section.error(name, nil, "an app's name must be 1 to 64 of a-z, 0-9, - and _, and not default")
            }
            try section.section(name) { own in
                let senders = try own.section("senders")
                if senders.senderNames.isEmpty { throw own.error("senders", nil, "an app needs a sender") }
                try self.readSenders(senders, of: app)
            }
        }
    }

    private mutating func readSenders(_ section: ConfigurationSection, of app: AppName) throws {
        for name in section.senderNames where !section.isNull(name) {
            let own = try section.section(name)
            let platform = Platform(name, of: app)
            if try own.bool("direct") == true { self.directSenders.insert(platform) }
            self.senders[platform] = try SenderConfiguration(own, name: name, keys: self.keys)
        }
    }

    private mutating func readQuotas(_ section: ConfigurationSection) throws {
        for role in Role.allCases {
            guard try !section.isNullSection(role.rawValue) else {
                self.quotas[role] = nil
                continue
            }
            let usual = self.quotas[role]
            self.quotas[role] = try section.section(role.rawValue) { own in
                try Quota(
                    requests: own.integer("requests", in: Quota.requestRange) ?? usual?.requests ?? 1,
                    window: own.wholeSeconds("window", in: Quota.windowRange) ?? usual?.window ?? 60,
                    changes: own.integerOrNull("changes", in: Quota.changeRange) ?? usual?.changes
                )
            }
        }
    }

    private mutating func readStorage(_ section: ConfigurationSection) throws {
        for role in Role.allCases {
            guard try !section.isNullSection(role.rawValue) else {
                self.server.storage[role] = nil
                continue
            }
            let usual = self.server.storage[role]
            self.server.storage[role] = try section.section(role.rawValue) { own in
                try StorageBounds(
                    devices: own.integer("devices", in: StorageBounds.deviceRange) ?? usual?.devices ?? 1,
                    notifications: own.integer("notifications", in: StorageBounds.notificationRange)
                        ?? usual?.notifications ?? 1,
                    bytes: own.integer("bytes", in: StorageBounds.byteRange) ?? usual?.bytes ?? 1
                )
            }
        }
    }

    private mutating func readLog(_ section: ConfigurationSection) throws {
        let levels = ["trace", "debug", "info", "notice", "warning", "error", "critical"]
        try section.string("level", oneOf: levels, into: &self.logLevel)
        try section.string("format", oneOf: ["text", "json"], into: &self.logFormat)
        self.logFile = try section.nonEmptyString("file")
        try section.integer("requests", in: 0...1_000_000_000, into: &self.loggedRequests)
    }
}

extension ConfigurationSection {
    /// The names of senders. A sender that only the environment configures needs a variable with
    /// its type, unless its name is a type.
    fileprivate var senderNames: [String] {
        let typed = self.names { $0.hasSuffix("_TYPE") ? $0.dropLast(5) : nil }
        let known = (typed + SenderConfiguration.types).map { $0.uppercased().replacing("-", with: "_") }
        // The longest matching name counts: `APNS_SANDBOX_ENABLED` sets a key of `apns-sandbox`,
        // if there is such a sender, and not of `apns`.
        return self.names { end in
            known.filter { end.hasPrefix("\($0)_") }.map(\.count).max().map { end.prefix($0) }
        }
    }
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
    }
}

extension PasswordParameters {
    fileprivate init(_ section: ConfigurationSection) throws {
        let usual = Self.usual
        let parameters = PasswordParameters(
            memory: try section.integer("memory", in: Self.memoryBounds) ?? usual.memory,
            passes: try section.integer("passes", in: Self.passesBounds) ?? usual.passes,
            lanes: usual.lanes
        )
        guard let parameters, parameters.isStrongEnough else {
            throw section.error(
                "memory",
                nil,
                "must be at least 19456 with 2 passes; or 47104 with 1, 12288 with 3, 9216 with 4, 7168 with 5"
            )
        }
        self = parameters
    }
}

extension TagPolicy {
    fileprivate init(_ section: ConfigurationSection) throws {
        let usual = TagPolicy()
        let reserved = try section.strings("reserved") ?? usual.reserved
        for prefix in reserved where Tag(prefix) == nil {
            throw section.error("reserved", nil, "\"\(prefix)\" must be \(Tag.rule)")
        }
        self.init(reserved: reserved, isOpen: try section.bool("open") ?? usual.isOpen)
    }
}

import PushCore

extension SenderConfiguration {
    /// Throws `ConfigurationError` for a bad name, an unknown key or a bad value.
    init(_ section: ConfigurationSection, name: String) throws {
        guard Tag(name) != nil, name == name.lowercased() else {
            throw section.error("type", nil, "a sender's name must consist of a-z, 0-9, - and _")
        }
        switch try section.requiredString("type") {
        case "apns": self = .apns(try APNs(section))
        case "fcm": self = .fcm(try FCM(section))
        case "wns": self = .wns(try WNS(section))
        case "webpush": self = .webPush(try WebPush(section))
        case "webhook": self = .webhook(try Webhook(section))
        case "stream": self = .stream
        default: throw section.error("type", nil, "must be one of apns, fcm, wns, webpush, webhook, stream")
        }
        try section.finish()
    }
}

extension SenderConfiguration.APNs {
    fileprivate init(_ section: ConfigurationSection) throws {
        self.init(
            keyFile: try section.requiredString("keyFile"),
            keyID: try section.requiredString("keyID"),
            teamID: try section.requiredString("teamID"),
            topic: try section.requiredString("topic")
        )
        self.envelope = try section.string("envelope", oneOf: ["background", "alert"]) ?? self.envelope
        self.endpoint = try section.string("endpoint") ?? self.endpoint
        self.caFile = try section.string("caFile")
        self.connections = try section.integer("connections", in: 1...100) ?? self.connections
        self.streams = try section.integer("streams", in: 1...1000) ?? self.streams
        self.rate = try section.integer("rate", in: 1...1_000_000)
        self.backgroundInterval = try section.integer("backgroundInterval", in: 0...86_400) ?? self.backgroundInterval
    }
}

extension SenderConfiguration.FCM {
    fileprivate init(_ section: ConfigurationSection) throws {
        self.init(serviceAccount: try section.requiredString("serviceAccount"))
        self.endpoint = try section.string("endpoint") ?? self.endpoint
        self.tokenEndpoint = try section.string("tokenEndpoint")
        self.caFile = try section.string("caFile")
        self.connections = try section.integer("connections", in: 1...100) ?? self.connections
        self.streams = try section.integer("streams", in: 1...1000) ?? self.streams
        self.rate = try section.integer("rate", in: 1...1_000_000) ?? self.rate
    }
}

extension SenderConfiguration.WNS {
    fileprivate init(_ section: ConfigurationSection) throws {
        self.init(
            tenantID: try section.requiredString("tenantID"),
            clientID: try section.requiredString("clientID"),
            clientSecretFile: try section.requiredString("clientSecretFile")
        )
        self.clientSecretExpires = try section.day("clientSecretExpires")
        self.tokenEndpoint = try section.string("tokenEndpoint")
        self.allowedHosts = try section.strings("allowedHosts") ?? self.allowedHosts
        self.allowsPrivateAddresses = try section.bool("allowPrivateAddresses") ?? self.allowsPrivateAddresses
        self.caFile = try section.string("caFile")
        self.connections = try section.integer("connections", in: 1...100) ?? self.connections
        self.rate = try section.integer("rate", in: 1...1_000_000)
    }
}

extension SenderConfiguration.WebPush {
    fileprivate init(_ section: ConfigurationSection) throws {
        self.init(subject: try section.requiredString("subject"))
        self.keyFile = try section.string("keyFile") ?? self.keyFile
        self.allowedHosts = try section.strings("allowedHosts") ?? self.allowedHosts
        self.allowsPrivateAddresses = try section.bool("allowPrivateAddresses") ?? self.allowsPrivateAddresses
        self.caFile = try section.string("caFile")
        self.connections = try section.integer("connections", in: 1...100) ?? self.connections
        self.rate = try section.integer("rate", in: 1...1_000_000)
    }
}

extension SenderConfiguration.Webhook {
    fileprivate init(_ section: ConfigurationSection) throws {
        self.init(
            url: try section.requiredString("url"),
            secretFile: try section.requiredString("secretFile")
        )
        self.caFile = try section.string("caFile")
        self.connections = try section.integer("connections", in: 1...100) ?? self.connections
        self.rate = try section.integer("rate", in: 1...1_000_000)
    }
}

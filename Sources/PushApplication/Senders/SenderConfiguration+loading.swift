import PushCore
import PushSenders

extension SenderConfiguration {
    static let types = ["apns", "fcm", "wns", "webpush", "webhook", "stream"]

    /// Reads the section of the sender `name`. `keys` is the folder for the server's own files.
    /// Throws `ConfigurationError` for a bad name, an unknown key or a bad value.
    init(_ section: ConfigurationSection, name: String, keys: String) throws {
        guard Tag(name) != nil, name == name.lowercased() else {
            throw section.error("type", nil, "a sender's name must consist of a-z, 0-9, - and _")
        }
        // A sender whose name is a type, such as `fcm`, needs no key `type`.
        let usual = Self.types.contains(name) ? name : nil
        switch try section.string("type") ?? usual ?? section.requiredString("type") {
        case "apns": self = .apns(try APNs(section))
        case "fcm": self = .fcm(try FCM(section))
        case "wns": self = .wns(try WNS(section))
        case "webpush": self = .webPush(try WebPush(section, keys: keys))
        case "webhook": self = .webhook(try Webhook(section))
        case "stream": self = .stream
        default: throw section.error("type", nil, "must be one of \(Self.types.joined(separator: ", "))")
        }
        try section.finish()
    }
}

extension SenderConfiguration.APNs {
    fileprivate init(_ section: ConfigurationSection) throws {
        let keyFile = try section.requiredString("keyFile")
        self.init(
            keyFile: keyFile,
            keyID: try section.keyID(of: keyFile),
            teamID: try section.requiredString("teamID"),
            topic: try section.requiredString("topic"),
            envelope: try section.appleEnvelope("envelope", usual: "alert", or: ["voip"]) ?? .background
        )
        try section.string("endpoint", into: &self.endpoint)
        self.sandbox = try SenderConfiguration.Sandbox(section.section("sandbox"))
        self.caFile = try section.string("caFile")
        try section.integer("connections", in: 1...100, into: &self.connections)
        self.rate = try section.integer("rate", in: 1...1_000_000)
        self.backgroundInterval =
            try section.wholeSeconds("backgroundInterval", in: 0...86_400) ?? self.backgroundInterval
        self.sendsUnread = try section.string("badge", oneOf: ["unread"]) != nil
        self.lookInterval = try section.lookInterval()
        guard self.lookInterval == nil || self.envelope != .voip else {
            throw section.error("lookInterval", nil, "must be left out with envelope: voip")
        }
    }
}

extension SenderConfiguration.Sandbox {
    /// Reads the section about the sandbox; `nil` unless the section enables the sandbox.
    fileprivate init?(_ section: ConfigurationSection) throws {
        let isEnabled = try section.bool("enabled") ?? false
        try section.string("endpoint", into: &self.endpoint)
        self.keyFile = try section.string("keyFile")
        self.keyID = try self.keyFile.map { try section.keyID(of: $0) } ?? section.string("keyID")
        guard (self.keyFile == nil) == (self.keyID == nil) else {
            throw section.error("keyFile", nil, "keyFile and keyID must be set together")
        }
        try section.finish()
        guard isEnabled else { return nil }
    }
}

extension SenderConfiguration.FCM {
    fileprivate init(_ section: ConfigurationSection) throws {
        self.init(credentials: try SenderConfiguration.FCM.Credentials(section))
        self.projectID = try section.string("projectID")
        try section.string("endpoint", into: &self.endpoint)
        self.tokenEndpoint = try section.string("tokenEndpoint")
        try section.strings("allowedHosts", into: &self.allowedHosts)
        self.apple = try section.appleEnvelope("apple")
        let placeholder = try AndroidPlaceholder(section.section("androidAlert"))
        let android = try section.string("android", oneOf: ["data", "notification"])
        if android == "notification" { self.android = .notification(placeholder) }
        self.caFile = try section.string("caFile")
        try section.integer("connections", in: 1...100, into: &self.connections)
        try section.integer("rate", in: 1...1_000_000, into: &self.rate)
        self.lookInterval = try section.lookInterval()
    }
}

extension SenderConfiguration.FCM.Credentials {
    fileprivate init(_ section: ConfigurationSection) throws {
        switch try section.string("credentials", oneOf: ["file", "metadata"]) {
        case "metadata":
            guard try section.string("serviceAccount") == nil else {
                throw section.error("serviceAccount", nil, "must be left out with credentials: metadata")
            }
            self = .metadata
        default: self = .file(try section.requiredString("serviceAccount"))
        }
    }
}

extension SenderConfiguration.WNS {
    fileprivate init(_ section: ConfigurationSection) throws {
        self.init(
            tenantID: try section.string("tenantID"),
            clientID: try section.requiredString("clientID"),
            clientSecretFile: try section.requiredString("clientSecretFile")
        )
        self.clientSecretExpires = try section.day("clientSecretExpires")
        let text = try section.constant("toastText") ?? "New notification"
        let envelope = try section.string("envelope", oneOf: ["raw", "toast"])
        if envelope == "toast" { self.content = .toast(text: text) }
        self.tokenEndpoint = try section.string("tokenEndpoint")
        try section.strings("allowedHosts", into: &self.allowedHosts)
        try section.bool("allowPrivateAddresses", into: &self.allowsPrivateAddresses)
        self.caFile = try section.string("caFile")
        try section.integer("connections", in: 1...100, into: &self.connections)
        self.rate = try section.integer("rate", in: 1...1_000_000)
        self.lookInterval = try section.lookInterval()
    }
}

extension SenderConfiguration.WebPush {
    fileprivate init(_ section: ConfigurationSection, keys: String) throws {
        self.init(subject: try section.requiredString("subject"))
        self.keyFile = try section.string("keyFile") ?? "\(keys)/vapid.pem"
        try section.strings("allowedHosts", into: &self.allowedHosts)
        try section.bool("allowPrivateAddresses", into: &self.allowsPrivateAddresses)
        // With both settings, any user could make the server call this machine and its network.
        guard !self.allowsPrivateAddresses || !self.allowedHosts.contains(WebPushHandleRule.anyHost) else {
            throw section.error("allowPrivateAddresses", nil, "must be false with \"*\" in allowedHosts")
        }
        self.placeholder = try section.section("placeholder") { try WebPushPlaceholder($0) }
        self.caFile = try section.string("caFile")
        try section.integer("connections", in: 1...100, into: &self.connections)
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
        try section.integer("connections", in: 1...100, into: &self.connections)
        self.rate = try section.integer("rate", in: 1...1_000_000)
    }
}

extension ConfigurationSection {
    /// The shortest time in seconds between two looks of one device (pushes that only tell it to
    /// sync).
    fileprivate func lookInterval() throws -> Int? {
        try self.wholeSeconds("lookInterval", in: 10...86_400)
    }

    /// The id of one of Apple's keys. If the configuration has no id, it is taken from the name
    /// that Apple gives the file, such as `AuthKey_ABC123DEFG.p8`.
    fileprivate func keyID(of file: String) throws -> String {
        if let id = try self.string("keyID") { return id }
        let name = file.split(separator: "/").last ?? ""
        guard name.hasPrefix("AuthKey_"), name.hasSuffix(".p8"), name.count == 21 else {
            throw self.error("keyID", nil, "is missing, and the name of the keyFile, AuthKey_….p8, does not have it")
        }
        return String(name.dropFirst(8).dropLast(3))
    }

    /// The appearance of pushes on Apple devices, with the texts of the section `alert`. If the
    /// configuration does not set `key`, the appearance is `usual`. Only APNs itself can send
    /// `voip`, so other senders do not allow it.
    fileprivate func appleEnvelope(
        _ key: String,
        usual: String? = nil,
        or others: [String] = []
    ) throws -> AppleEnvelope? {
        let placeholder = try AlertPlaceholder(self.section("alert"))
        return switch try self.string(key, oneOf: ["alert", "background"] + others) ?? usual {
        case "alert": .alert(placeholder)
        case "background": .background
        case "voip": .voip
        default: nil
        }
    }
}

extension AlertPlaceholder {
    fileprivate init(_ section: ConfigurationSection) throws {
        self.init()
        self.titleKey = try section.constant("titleKey")
        self.bodyKey = try section.constant("bodyKey") ?? self.bodyKey
        self.sound = try section.isNull("sound") ? nil : section.constant("sound") ?? self.sound
        self.category = try section.constant("category")
        self.thread = try section.constant("thread")
        // Every level except `critical`: a critical alert needs a publisher who may use that
        // level, and no publisher sends the placeholder that this section sets.
        let levels = InterruptionLevel.allCases.filter { $0 != .critical }.map(\.rawValue)
        self.interruptionLevel = try section.string("interruptionLevel", oneOf: levels)
            .flatMap(InterruptionLevel.init)
        try section.integer("criticalVolume", in: 0...100, into: &self.criticalVolume)
        try section.finish()
    }
}

extension AndroidPlaceholder {
    fileprivate init(_ section: ConfigurationSection) throws {
        self.init()
        self.titleKey = try section.constant("titleKey")
        self.bodyKey = try section.constant("bodyKey")
        self.text = try section.constant("text") ?? self.text
        self.sound = try section.isNull("sound") ? nil : section.constant("sound") ?? self.sound
        self.channel = try section.constant("channel")
        try section.finish()
    }
}

extension WebPushPlaceholder {
    /// Reads the section about the notification; `nil` if the section names no page.
    fileprivate init?(_ section: ConfigurationSection) throws {
        let title = try section.constant("title"), body = try section.constant("body")
        guard let page = try section.string("page") else {
            guard title == nil, body == nil else { throw section.error("page", nil, "is missing") }
            return nil
        }
        do throws(SenderSettingsError) {
            self = try WebPushPlaceholder(page: page, title: title, body: body)
        } catch {
            throw section.error("page", nil, error.fault)
        }
    }
}

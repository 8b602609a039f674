import PushCore

extension Configuration.Events {
    /// Reads the section `events`. Throws `ConfigurationError` for an unknown kind of event or a
    /// bad value.
    init(_ section: ConfigurationSection) throws {
        self.init()
        if let keep = try section.wholeSeconds("keep", in: 3600...31_536_000) {
            self.isKept = true
            self.kept = .seconds(keep)
        }
        if let words = try section.strings("kinds") {
            let known = PushEvent.Kind.allCases.map(\.rawValue).joined(separator: ", ")
            self.kinds = try words.map { word in
                guard let kind = PushEvent.Kind(rawValue: word) else {
                    throw section.error("kinds", nil, "\"\(word)\" is not a kind of event; known are \(known)")
                }
                return kind
            }
            guard !self.kinds.isEmpty else { throw section.error("kinds", nil, "needs one or more of \(known)") }
        }
        self.webhook = try Webhook(section.section("webhook"))
        try section.finish()
    }
}

extension Configuration.Events.Webhook {
    /// Reads the section about the receiver; `nil` if no URL is configured. Throws
    /// `ConfigurationError` for a bad value.
    init?(_ section: ConfigurationSection) throws {
        let url = try section.string("url")
        let (secretFile, caFile) = (try section.string("secretFile"), try section.string("caFile"))
        let isDirect = try section.bool("direct") ?? false
        try section.finish()
        guard let url else {
            guard secretFile == nil else {
                throw section.error("secretFile", nil, "has no meaning without events.webhook.url")
            }
            return nil
        }
        guard let secretFile else { throw section.error("secretFile", nil, "is missing; the receiver's url needs it") }
        self.init(url: url, secretFile: secretFile, caFile: caFile, isDirect: isDirect)
    }
}

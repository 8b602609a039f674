internal import PushAPI
package import PushCore
package import PushStore

/// What operators decide about notifications and devices.
package struct ServerSettings: Sendable {
    /// What a name of the configuration's `senders` stands for at registration.
    package struct PlatformRule: Sendable {
        /// What handles its devices may have.
        package let handles: any HandleRule
        /// What browsers subscribe with, if the platform is Web Push.
        package let applicationServerKey: String?

        package init(_ handles: any HandleRule, applicationServerKey: String? = nil) {
            self.handles = handles
            self.applicationServerKey = applicationServerKey
        }

        /// Whether its devices hold an event stream open.
        var isStream: Bool {
            if case .registrationID = self.handles.form { true } else { false }
        }
    }

    /// Ids are below two to this power; 31 for clients that read them into a 32-bit integer.
    package var idBits: Int
    /// What is sent when nothing is given, as by the tutorial's button.
    package var emptyPayload: String
    /// Bytes of a payload as JSON text.
    package var maximumPayload: Int
    /// How long a payload is kept unless its sender says otherwise, and at most.
    package var lifetime: Duration
    /// For how long a phone may answer from its cache.
    package var cacheMaxAge: Duration
    /// The same for lists; zero: never without asking.
    package var listMaxAge: Duration
    /// How long a token is good that was got by signing in, unless less is asked for.
    package var sessionLifetime: Duration
    /// How often an event stream shows that it lives, and looks whether its caller still may have it.
    package var streamHeartbeat: Duration
    /// Where trusted proxies say whom they have signed in; `nil`: they do not.
    package var identityField: IdentityField?
    /// The origins, beside the server's own, whose pages may send requests and read the answers.
    package var allowedOrigins: Set<WebOrigin>
    /// For how many seconds browsers come back over TLS only (RFC 6797), told on the server's own TLS; `nil`: not told.
    package var hsts: Int?
    package var platforms: [Platform: PlatformRule]
    /// What users of a role may have stored at a time; a role that is not here, as much as they like.
    package var storage: [Role: StorageBounds]

    package init(
        idBits: Int = 31,
        emptyPayload: String = "Secure confirmation.",
        maximumPayload: Int = 65_536,
        lifetime: Duration = .seconds(2_592_000),
        cacheMaxAge: Duration = .seconds(60),
        listMaxAge: Duration = .zero,
        sessionLifetime: Duration = .seconds(7_776_000),
        streamHeartbeat: Duration = .seconds(15),
        identityField: IdentityField? = nil,
        allowedOrigins: Set<WebOrigin> = [],
        hsts: Int? = nil,
        platforms: [Platform: PlatformRule] = [:],
        storage: [Role: StorageBounds] = [:]
    ) {
        self.idBits = idBits
        self.emptyPayload = emptyPayload
        self.maximumPayload = maximumPayload
        self.lifetime = lifetime
        self.cacheMaxAge = cacheMaxAge
        self.listMaxAge = listMaxAge
        self.sessionLifetime = sessionLifetime
        self.streamHeartbeat = streamHeartbeat
        self.identityField = identityField
        self.allowedOrigins = allowedOrigins
        self.hsts = hsts
        self.platforms = platforms
        self.storage = storage
    }

    /// The platform of that name. Throws an `unknown-platform` problem that lists those there are.
    func platform(named name: String) throws -> Platform {
        try self.rule(named: name).platform
    }

    /// The same, and what is asked of its devices.
    func rule(named name: String) throws -> (platform: Platform, rule: PlatformRule) {
        let platform = Platform(name)
        guard let rule = self.platforms[platform] else { throw self.unknownPlatform(name) }
        return (platform, rule)
    }

    /// A handle of whatever platform, as a client wrote it; `nil` if it can be none.
    func handle(of text: String) -> DeviceHandle? {
        for rule in self.platforms.values {
            guard case .object(let canonical) = rule.handles.form else { continue }
            // What this platform cannot read may be another's.
            if let handle = try? canonical(text) { return handle }
        }
        return DeviceHandle(text)
    }

    /// What browsers subscribe with: the key of the platform `webpush`, or of the first that has one.
    var applicationServerKey: String? {
        let platforms = self.platforms.filter { $0.value.applicationServerKey != nil }
        let first = platforms.min { $0.key.description < $1.key.description }?.value
        return (platforms[Platform("webpush")] ?? first)?.applicationServerKey
    }

    private func unknownPlatform(_ name: String) -> Problem {
        let known = self.platforms.keys.map(\.description).sorted()
        let list = known.isEmpty ? "no sender is configured" : "the known ones are \(known.joined(separator: ", "))"
        return Problem(.unknownPlatform, "\"\(name.prefix(40))\" is unknown; \(list)")
    }
}

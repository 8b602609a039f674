internal import PushAPI
package import PushCore
package import PushStore

/// The operator's settings for notifications and devices.
package struct ServerSettings: Sendable {
    /// The rule for devices that register for a name of the configuration's `senders`.
    package struct PlatformRule: Sendable {
        /// Which handles its devices may have.
        package let handles: any HandleRule
        /// The key that browsers subscribe with, if the platform is Web Push.
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

    /// Whether the store keeps events, and for whom.
    package enum Events: Sendable, Hashable {
        case off
        /// For those who ask for them.
        case listed
        /// For the operator's receiver, too.
        case delivered
    }

    /// Ids are below two to this power; 31 for clients that read them into a 32-bit integer.
    package var idBits: Int
    /// The payload that is stored when a request has none, as from the tutorial's button.
    package var emptyPayload: String
    /// The longest payload, in bytes of JSON text.
    package var maximumPayload: Int
    /// How long a payload is kept, by default and at most.
    package var lifetime: Duration
    /// How long a client may use its cached answer.
    package var cacheMaxAge: Duration
    /// The same for lists; zero: never without revalidation.
    package var listMaxAge: Duration
    /// The lifetime of a token that a sign-in issues, unless the client asks for less.
    package var sessionLifetime: Duration
    /// How often an event stream sends a heartbeat, and checks whether its caller is still authorized.
    package var streamHeartbeat: Duration
    /// The field in which trusted proxies name the user whom they have signed in; `nil`: they sign in no user.
    package var identityField: IdentityField?
    /// The origins, beside the server's own, whose pages may send requests and read the answers.
    package var allowedOrigins: Set<WebOrigin>
    /// The seconds for which browsers return over TLS only (RFC 6797), sent on the server's own TLS; `nil`: not sent.
    package var hsts: Int?
    package var platforms: [Platform: PlatformRule]
    /// The tags that devices may give themselves.
    package var tags: TagPolicy
    /// The storage bounds of each user of a role; a role without an entry has none.
    package var storage: [Role: StorageBounds]
    package var events: Events

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
        tags: TagPolicy = TagPolicy(),
        storage: [Role: StorageBounds] = [:],
        events: Events = .off
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
        self.tags = tags
        self.storage = storage
        self.events = events
    }

    /// The platform of that name. Throws an `unknown-platform` problem that lists the known ones.
    func platform(named name: String) throws -> Platform {
        try self.rule(named: name).platform
    }

    /// The platform of that name and its rule. Throws an `unknown-platform` problem that lists the known ones.
    func rule(named name: String) throws -> (platform: Platform, rule: PlatformRule) {
        let platform = Platform(name)
        guard let rule = self.platforms[platform] else { throw self.unknownPlatform(name) }
        return (platform, rule)
    }

    /// A handle of any platform, as a client wrote it; `nil` if it is valid for none.
    func handle(of text: String) -> DeviceHandle? {
        for rule in self.platforms.values {
            guard case .object(let canonical) = rule.handles.form else { continue }
            // A handle that this platform cannot read may be another platform's.
            if let handle = try? canonical(text) { return handle }
        }
        return DeviceHandle(text)
    }

    /// The key that browsers subscribe with: that of the platform `webpush`, or of the first platform that has one.
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

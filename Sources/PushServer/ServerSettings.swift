internal import PushAPI
package import PushCore

/// The operator's settings for notifications and devices.
package struct ServerSettings: Sendable {
    /// The rule for devices that register for one platform, which is a name under `senders` in the
    /// configuration.
    package struct PlatformRule: Sendable {
        /// The handles that the platform's devices may have.
        package let handles: any HandleRule
        /// The public key that browsers need to subscribe to pushes; `nil` unless the platform is
        /// Web Push.
        package let applicationServerKey: String?
        /// Whether the platform's devices may use Apple's sandbox.
        package let hasSandbox: Bool
        /// Whether the platform is only for calls. A notification goes to such a platform only if
        /// the notification names it.
        package let isForCalls: Bool
        /// The host to which all pushes of the platform go, if the operator has configured one;
        /// otherwise `nil`.
        package let receiver: String?

        package init(
            _ handles: any HandleRule,
            applicationServerKey: String? = nil,
            hasSandbox: Bool = false,
            isForCalls: Bool = false,
            receiver: String? = nil
        ) {
            self.handles = handles
            self.applicationServerKey = applicationServerKey
            self.hasSandbox = hasSandbox
            self.isForCalls = isForCalls
            self.receiver = receiver
        }

        /// Whether the platform's devices hold an event stream open.
        var isStream: Bool {
            if case .registrationID = self.handles.form { true } else { false }
        }
    }

    /// Whether the store keeps events, and who can get them.
    package enum Events: Sendable, Hashable {
        case off
        /// The store keeps events, and `GET /api/events` lists them.
        case listed
        /// The store keeps events, `GET /api/events` lists them, and the server also posts them to
        /// the receiver that the operator has configured.
        case delivered
    }

    /// The number of bits of a notification's id; 31 for clients that read ids into a 32-bit
    /// integer.
    package var idBits = 31
    /// The payload that is stored when a request has none, such as the request of the button in
    /// Microsoft's tutorial.
    package var emptyPayload = "Secure confirmation."
    /// The longest payload, in bytes of JSON text.
    package var maximumPayload = 65_536
    /// The longest body of a batch of notifications, in bytes.
    package var maximumBatch = 4_194_304
    /// The memory for the bodies of all requests without an authenticated caller, in bytes.
    package var strangersBodies = 67_108_864
    /// How long a batch may wait for a worker thread, and how long the worker may then begin to
    /// store further elements of the batch.
    package var batchTimeout = Duration.seconds(3)
    /// The lifetime of a payload if its sender names no lifetime; it is also the longest lifetime.
    package var lifetime = Duration.seconds(2_592_000)
    /// How long a client may use its cached answer.
    package var cacheMaxAge = Duration.seconds(60)
    /// The lifetime of a token that a sign-in issues, unless the client asks for less.
    package var sessionLifetime = Duration.seconds(7_776_000)
    /// The interval at which an event stream sends a heartbeat and checks whether its caller is
    /// still authorized.
    package var streamHeartbeat = Duration.seconds(15)
    /// The field in which trusted proxies name the user whom they have signed in; `nil` if proxies
    /// sign in no users.
    package var identityField: IdentityField?
    /// The hosts that the field `Host` of a request may name, in lower case and without a port; if
    /// empty, any host.
    package var names: Set<String> = []
    /// The additional origins whose pages may send requests and read the answers.
    package var allowedOrigins: Set<WebOrigin> = []
    /// The number of seconds for which a browser must use only TLS for this server. Only answers
    /// over the server's own TLS have this number, in the field `Strict-Transport-Security` (RFC
    /// 6797). `nil`: no answer has this field.
    package var hsts: Int?
    package var platforms: [Platform: PlatformRule] = [:] {
        didSet { self.platformsByApp = Self.byApp(self.platforms) }
    }
    /// For each app, its platforms except those for calls; the default app always has an entry.
    /// These sets are computed in advance, since each request for a list and each post reads them.
    private var platformsByApp: [AppName: Set<Platform>] = Self.byApp([:])
    /// The tags that devices may give themselves.
    package var tags = TagPolicy()
    /// The storage limits of each user of a role; a role without an entry has none.
    package var storage: [Role: StorageBounds] = [:]
    /// The alerts that notifications may show in their pushes.
    package var alerts = AlertPolicy()
    package var events: Events = .off
    /// The apps whose payloads must be encrypted end to end.
    package var endToEndApps: Set<AppName> = []

    /// The defaults with the changes that the closure makes.
    package init(_ change: (inout Self) -> Void = { _ in }) { change(&self) }

    /// The app with that name. Without a name, it is the default app or, for a user who does not
    /// belong to the default app, the user's only app.
    ///
    /// Throws an `unknown-app` problem if there is no such app, or if the user does not belong to
    /// the app; the problem lists only the user's own apps. Administrators belong to all apps.
    func app(named name: String?, for user: User) throws(Problem) -> AppName {
        if let name {
            if let app = AppName(name), self.platformsByApp[app] != nil, user.mayUse(app) { return app }
        } else if user.mayUse(.usual) {
            return .usual
        }
        let known = self.apps.filter(user.mayUse)
        if name == nil, known.count == 1, let app = known.first { return app }
        // Administrators, and operators at the machine, may send to users of any app, so `known`
        // has the apps of the server.
        let owner = user.role == .admin ? "server" : "user"
        let list =
            known.isEmpty
            ? "the user belongs to no app"
            : "the \(owner)'s apps are \(known.sorted().map(\.description).joined(separator: ", "))"
        let asked =
            name.map { "\"\($0.prefix(64))\" is not an app of this \(owner)" }
            ?? "the user has several apps; name one in App"
        throw Problem(.unknownApp, "\(asked); \(list)")
    }

    /// The apps that have senders, and the default app.
    var apps: Set<AppName> { Set(self.platformsByApp.keys) }

    /// The platforms to which notifications of an app go if they name no platform. `nil` means all
    /// platforms: the server has only one app, and no platform is for calls.
    func platforms(of app: AppName) -> Set<Platform>? {
        let own = self.platformsByApp[app, default: []]
        return self.platformsByApp.count == 1 && own.count == self.platforms.count ? nil : own
    }

    /// The longest lifetime of a notification to these platforms, which is also its lifetime if
    /// the sender names none.
    func lifetime(to platforms: Set<Platform>?) -> Duration {
        platforms?.contains(where: self.isForCalls) == true ? min(self.lifetime, Self.longestCall) : self.lifetime
    }

    /// Whether any platform is for calls.
    var hasCalls: Bool { self.platforms.values.contains(where: \.isForCalls) }

    func isForCalls(_ platform: Platform) -> Bool {
        self.platforms[platform]?.isForCalls ?? false
    }

    /// The longest lifetime of a notification for a call: after this time a phone must not ring,
    /// even if the server had to pause its pushes.
    private static let longestCall = Duration.seconds(120)

    private static func byApp(_ platforms: [Platform: PlatformRule]) -> [AppName: Set<Platform>] {
        Dictionary(grouping: platforms.keys, by: \.app)
            .mapValues { Set($0.filter { platforms[$0]?.isForCalls == false }) }
            .merging([.usual: []]) { own, _ in own }
    }

    /// The platform of that name. Throws an `unknown-platform` problem that lists the app's
    /// platforms.
    func platform(named name: String, of app: AppName) throws -> Platform {
        try self.rule(named: name, of: app).platform
    }

    /// The platform of that name and its rule. Throws an `unknown-platform` problem that lists the
    /// app's platforms.
    func rule(named name: String, of app: AppName) throws -> (platform: Platform, rule: PlatformRule) {
        let platform = Platform(name, of: app)
        guard let rule = self.platforms[platform] else { throw self.unknownPlatform(platform) }
        return (platform, rule)
    }

    /// The handle in a client's text; the handle may be any platform's. If no platform reads the
    /// text as a JSON object, the text itself is the handle. `nil` if the text cannot be a handle.
    func handle(of text: String) -> DeviceHandle? {
        for rule in self.platforms.values {
            guard case .object(let canonical) = rule.handles.form else { continue }
            // A handle that this platform cannot read may be another platform's.
            if let handle = try? canonical(text) { return handle }
        }
        return DeviceHandle(text)
    }

    /// The public key that browsers need to subscribe: the key of the app's platform `webpush`, or
    /// of its first platform that has a key.
    func applicationServerKey(of app: AppName) -> String? {
        let platforms = self.platforms.filter { $0.key.app == app && $0.value.applicationServerKey != nil }
        let first = platforms.min { $0.key.name < $1.key.name }?.value
        return (platforms[Platform("webpush", of: app)] ?? first)?.applicationServerKey
    }

    private func unknownPlatform(_ platform: Platform) -> Problem {
        let known = self.platforms.keys.filter { $0.app == platform.app }.map(\.name).sorted()
        let list = known.isEmpty ? "no sender is configured" : "the known ones are \(known.joined(separator: ", "))"
        return Problem(.unknownPlatform, "\"\(platform.name.prefix(40))\" is unknown; \(list)")
    }
}

internal import PushAPI
package import PushCore

/// What operators decide about notifications and devices.
package struct ServerSettings: Sendable {
    /// What a name of the configuration's `senders` stands for at registration.
    package struct PlatformRule: Sendable {
        package enum Judgement: Sendable, Hashable {
            /// It can be one, and its pushes go through this lane.
            case accepted(Lane)
            /// It cannot; why, as the end of a sentence about it.
            case refused(String)
        }

        /// What to make of a handle.
        package let judge: @Sendable (DeviceHandle) -> Judgement

        package init(judge: @escaping @Sendable (DeviceHandle) -> Judgement) {
            self.judge = judge
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
    /// How long a token is good that was got by signing in, unless less is asked for.
    package var sessionLifetime: Duration
    package var platforms: [Platform: PlatformRule]

    package init(
        idBits: Int = 31,
        emptyPayload: String = "Secure confirmation.",
        maximumPayload: Int = 65_536,
        lifetime: Duration = .seconds(2_592_000),
        cacheMaxAge: Duration = .seconds(60),
        sessionLifetime: Duration = .seconds(7_776_000),
        platforms: [Platform: PlatformRule] = [:]
    ) {
        self.idBits = idBits
        self.emptyPayload = emptyPayload
        self.maximumPayload = maximumPayload
        self.lifetime = lifetime
        self.cacheMaxAge = cacheMaxAge
        self.sessionLifetime = sessionLifetime
        self.platforms = platforms
    }

    /// The platform of that name. Throws an `unknown-platform` problem that lists those there are.
    func platform(named name: String) throws -> Platform {
        let platform = Platform(name)
        guard self.platforms[platform] != nil else {
            throw self.unknownPlatform(name)
        }
        return platform
    }

    private func unknownPlatform(_ name: String) -> Problem {
        let known = self.platforms.keys.map(\.description).sorted()
        let list = known.isEmpty ? "no sender is configured" : "the known ones are \(known.joined(separator: ", "))"
        return Problem(.unknownPlatform, "\"\(name.prefix(40))\" is unknown; \(list)")
    }
}

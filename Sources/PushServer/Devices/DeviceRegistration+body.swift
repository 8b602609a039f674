internal import PushAPI
internal import PushCore
internal import PushStore

extension DeviceRegistration {
    /// Reads the body of a registration. If others can guess handles of the platform, the
    /// registration needs a confirmation: `confirmation` is the id of the notification whose push
    /// carries the confirmation code.
    ///
    /// Throws problems that name the faulty member.
    init(
        _ body: JSONBody,
        id: RegistrationID,
        of user: User,
        settings: ServerSettings,
        confirmation: NotificationID
    ) throws {
        let app = try settings.app(named: try body.string("App"), for: user)
        let (platform, rule) = try settings.rule(named: try body.requiredString("Platform"), of: app)
        let handle = try Self.handle(body, id: id, rule.handles.form, platform)
        let part = try Self.checked(platform) { () throws(HandleFlaw) in try rule.handles.part(of: handle) }
        let tags = try Set<Tag>(body, atMost: Tag.maximumPerDevice) { tag throws(Problem) in
            try Self.check(tag, settings.tags)
        }
        let environment = try Self.environment(body, rule, platform)
        self.init(
            platform: platform,
            lane: part.map { Lane(platform, part: $0) } ?? Lane(platform, in: environment),
            otherLane: rule.hasSandbox ? Lane(platform, in: environment.other) : nil,
            handle: handle,
            tags: tags,
            isShared: try Self.isShared(body, id),
            confirmation: rule.handles.isGuessable ? confirmation : nil
        )
    }

    /// The member `Shared`; false if absent.
    ///
    /// The pushes of a shared registration contain a keyed hash (`AccountHint`) whose key is the
    /// registration id, so nobody must be able to guess the id. Earlier versions accepted ids that
    /// clients had made up; a shared registration with such an id is refused.
    private static func isShared(_ body: JSONBody, _ id: RegistrationID) throws(Problem) -> Bool {
        // As an absent member, it would move the handle away from other users.
        try body.refuseNull(["Shared"])
        guard try body.bool("Shared") == true else { return false }
        guard id.isRandom else {
            throw Problem(
                .registrationGone,
                "a shared registration needs an id that this server issued; request a new one"
            )
        }
        return true
    }

    /// The member `Environment`; production if absent.
    private static func environment(
        _ body: JSONBody,
        _ rule: ServerSettings.PlatformRule,
        _ platform: Platform
    ) throws -> PushEnvironment {
        guard let text = try body.string("Environment") else { return .production }
        guard let environment = PushEnvironment(rawValue: text) else {
            throw Problem(.invalidMember, "Environment must be \"production\" or \"sandbox\"")
        }
        guard environment == .production || rule.hasSandbox else {
            throw Problem(.invalidMember, "Environment cannot be sandbox: the platform \(platform.name) has none")
        }
        return environment
    }

    /// The member `Handle` in its canonical form, which the store saves and compares.
    private static func handle(
        _ body: JSONBody,
        id: RegistrationID,
        _ form: HandleForm,
        _ platform: Platform
    ) throws -> DeviceHandle {
        switch form {
        case .text:
            return try self.handle(try body.requiredString("Handle"))
        case .registrationID:
            // The platform uses the registration id as handle. The request's own handle is
            // ignored, but must be a string if present.
            _ = try body.string("Handle")
            return try self.handle(id.description)
        case .object(let canonical):
            let text =
                if let value = body.value("Handle"), case .object = value {
                    String(decoding: value.bytes, as: UTF8.self)
                } else {
                    try body.requiredString("Handle")
                }
            return try self.checked(platform) { () throws(HandleFlaw) in try canonical(text) }
        }
    }

    private static func handle(_ text: String) throws -> DeviceHandle {
        guard let handle = DeviceHandle(text) else { throw Problem(.invalidMember, "Handle \(DeviceHandle.rule)") }
        return handle
    }

    /// Turns the error about a handle into a problem that names the platform.
    private static func checked<Value>(
        _ platform: Platform,
        _ read: () throws(HandleFlaw) -> Value
    ) throws -> Value {
        do throws(HandleFlaw) {
            return try read()
        } catch {
            throw Problem(.invalidMember, "Handle is not valid for \(platform.name): \(error)")
        }
    }

    /// Throws a problem if a device may not give itself the tag.
    private static func check(_ tag: Tag, _ policy: TagPolicy) throws(Problem) {
        guard !policy.isOpen(tag) else { return }
        throw Problem(
            .invalidMember,
            policy.isOpen
                ? "Tags has a reserved element: \(tag)"
                : "Tags must be empty: on this server only administrators and publishers assign tags, to users"
        )
    }
}

extension DeviceHandle {
    /// The reason why a text is not a handle, as the detail of a problem states it.
    static let rule = "is not 1 to \(DeviceHandle.maximumLength) visible ASCII characters"
}

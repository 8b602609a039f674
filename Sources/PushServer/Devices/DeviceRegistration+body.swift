internal import PushAPI
internal import PushCore
internal import PushStore

extension DeviceRegistration {
    /// What the body of a registration asks for. Throws problems that name the member.
    init(_ body: JSONBody, id: RegistrationID, settings: ServerSettings) throws {
        let platform = try settings.platform(named: try body.requiredString("Platform"))
        let rule = settings.platforms[platform]
        let handle = try Self.handle(body, id: id, rule: rule, platform: platform)
        let lane: Lane
        switch rule?.judge(handle) {
        case .accepted(let own): lane = own
        case .refused(let why): throw Problem(.invalidMember, "Handle is not valid for \(platform): \(why)")
        case nil: lane = Lane(platform)
        }
        self.init(platform: platform, lane: lane, handle: handle, tags: try Self.tags(body.strings("Tags") ?? []))
    }

    /// A text, or where the platform's handles are JSON objects, such an object or its text; of a stream's device its id.
    private static func handle(
        _ body: JSONBody,
        id: RegistrationID,
        rule: ServerSettings.PlatformRule?,
        platform: Platform
    ) throws -> DeviceHandle {
        guard let readObject = rule?.readObject else {
            // What a stream's device says is not kept, and must be a text all the same.
            let said = try rule?.isStream == true ? body.string("Handle") : body.requiredString("Handle")
            guard let handle = DeviceHandle(rule?.isStream == true ? id.description : said ?? "") else {
                throw Problem(.invalidMember, "Handle \(DeviceHandle.rule)")
            }
            return handle
        }
        let text: String
        if let value = body.value("Handle"), case .object = value {
            text = String(decoding: value.bytes, as: UTF8.self)
        } else {
            text = try body.requiredString("Handle")
        }
        switch readObject(text) {
        case .handle(let handle): return handle
        case .refused(let why): throw Problem(.invalidMember, "Handle is not valid for \(platform): \(why)")
        }
    }

    private static func tags(_ texts: [String]) throws -> Set<Tag> {
        guard texts.count <= Tag.maximumPerDevice else {
            throw Problem(.invalidMember, "Tags has more than \(Tag.maximumPerDevice) elements")
        }
        return Set(
            try texts.map { text in
                guard let tag = Tag(text) else {
                    throw Problem(
                        .invalidMember,
                        "Tags has an element that is not 1 to 120 characters of A-Z a-z 0-9 - _ @ # . :"
                    )
                }
                guard !tag.isReserved else {
                    throw Problem(.invalidMember, "Tags has a reserved element: \(tag)")
                }
                return tag
            }
        )
    }
}

extension DeviceHandle {
    /// Why a text is none, for a problem's detail.
    static let rule = "is not 1 to \(DeviceHandle.maximumLength) visible ASCII characters"
}

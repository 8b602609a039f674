import PushCore

extension AlertPolicy {
    /// Reads the section `alerts`. Throws `ConfigurationError` for a bad value.
    init(_ section: ConfigurationSection) throws {
        self.init()
        let allowed = try section.section("allowed")
        for member in AlertMember.allCases {
            let values = Set(try allowed.constants(member.listKey, of: member) ?? [])
            if !values.isEmpty { self.allowed[member] = values }
        }
        self.largestBadge = try allowed.integer("badge", in: PushAlert.badges)
        try allowed.finish()
        let templates = try section.section("templates")
        let keys = AlertMember.allCases.map { "_\($0.rawValue.uppercased())" } + ["_TOASTTEXT"]
        let names = templates.names { end in keys.first(where: end.hasSuffix).map { end.dropLast($0.count) } }
        for name in names {
            guard Tag(name) != nil else {
                throw templates.error(name, nil, "a template's name must be \(Tag.rule)")
            }
            self.templates[name] = try PushAlert(templates.section(name))
        }
        try templates.finish()
        let publishers = try section.strings("criticalPublishers") ?? []
        self.criticalPublishers = Set(try publishers.map { try section.username($0, "criticalPublishers") })
        try section.finish()
    }
}

extension PushAlert {
    /// Reads the template of alerts. Throws `ConfigurationError` for a bad value, and for an empty
    /// template.
    fileprivate init(_ section: ConfigurationSection) throws {
        self.init()
        for member in AlertMember.allCases {
            let values = try section.constants(member.rawValue, of: member) ?? []
            guard values.count < 2 else { throw section.error(member.rawValue, nil, "must be a text") }
            self[member] = values.first
        }
        self.toastText = try section.constant("toastText")
        try section.finish()
        guard !self.texts.isEmpty || self.toastText != nil else {
            throw section.error("bodyKey", nil, "the template is empty; give it a bodyKey or another member")
        }
    }
}

extension ConfigurationSection {
    /// A constant text that every push contains: at most 100 bytes without control characters.
    func constant(_ key: String) throws -> String? {
        guard let text = try self.string(key) else { return nil }
        try self.checkConstant(text, key)
        return text
    }

    /// A list of constant texts that pushes contain; each text must be an allowed value of
    /// `member`.
    fileprivate func constants(_ key: String, of member: AlertMember) throws -> [String]? {
        let texts = try self.strings(key)
        for text in texts ?? [] {
            try self.checkConstant(text, key)
            guard member != .interruptionLevel || InterruptionLevel(rawValue: text) != nil else {
                let levels = InterruptionLevel.allCases.map(\.rawValue).joined(separator: ", ")
                throw self.error(key, nil, "must be one of \(levels)")
            }
        }
        return texts
    }

    fileprivate func username(_ text: String, _ key: String) throws -> Username {
        guard let name = Username(text) else { throw self.error(key, nil, "\"\(text)\" is not a user's name") }
        return name
    }

    private func checkConstant(_ text: String, _ key: String) throws {
        let isPrintable = text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
        guard (1...100).contains(text.utf8.count), isPrintable else {
            throw self.error(key, nil, "must be 1 to 100 bytes of text without control characters")
        }
    }
}

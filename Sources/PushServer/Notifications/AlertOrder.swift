internal import PushAPI
internal import PushCore

/// The member `Alert` of a notification: the alert that its pushes show in place of the fixed
/// alert text of the provider's configuration.
///
/// Every name and value must be in the lists that the operator has configured, so that providers
/// never see text of the payload. An unknown member is refused even without strict handling.
struct AlertOrder {
    let alert: PushAlert
    /// The requested alert, as the answer repeats it: without the values of the template that the
    /// request names.
    let json: JSONValue

    /// Checks the member's value. Throws problems that name the faulty member of `Alert` and the
    /// configuration key that lists the member's allowed values.
    init(_ value: JSONValue, from sender: Username, allowedBy policy: AlertPolicy) throws(Problem) {
        switch value {
        case .string(let name):
            self.alert = try Self.template(name, in: policy)
            self.json = value
        case .object(let members):
            try Self.checkNames(of: members)
            let body = JSONBody(value)
            var (alert, asked) = (PushAlert(), [JSONValue.Member]())
            if let name = try Self.string("Template", body) {
                alert = try Self.template(name, in: policy)
                asked.append(.init("Template", .string(name)))
            }
            for member in AlertMember.allCases {
                guard let text = try Self.string(member.wireName, body) else { continue }
                guard policy.allows(text, as: member) else {
                    throw Self.notAllowed(member.wireName, listedBy: "allowed.\(member.listKey)")
                }
                alert[member] = text
                asked.append(.init(member.wireName, .string(text)))
            }
            if let badge = try Self.badge(body, policy) {
                alert.badge = badge
                asked.append(.init("Badge", .number(badge)))
            }
            guard !asked.isEmpty else { throw Problem(.invalidMember, "Alert has no member") }
            self.alert = alert
            self.json = .object(asked)
        default:
            throw Problem(.invalidMember, "Alert must be an object or the name of a template, not \(value.kind)")
        }
        let isCritical = self.alert[.interruptionLevel] == InterruptionLevel.critical.rawValue
        guard !isCritical || policy.criticalPublishers.contains(sender) else {
            throw Problem(.alertNotAllowed, "Alert is critical, and alerts.criticalPublishers does not list the sender")
        }
    }

    private static let names = Set(
        (AlertMember.allCases.map(\.wireName) + ["Template", "Badge"]).map { $0.lowercased() }
    )

    private static func checkNames(of members: [JSONValue.Member]) throws(Problem) {
        guard members.allSatisfy({ self.names.contains($0.name.lowercased()) }) else {
            let known = (["Template"] + AlertMember.allCases.map(\.wireName) + ["Badge"]).joined(separator: ", ")
            throw Problem(.invalidMember, "Alert has an unknown member; known are \(known)")
        }
    }

    private static func string(_ name: String, _ body: JSONBody) throws(Problem) -> String? {
        guard let value = body.value(name) else { return nil }
        guard let text = value.text else {
            throw Problem(.invalidMember, "Alert.\(name) must be a string, not \(value.kind)")
        }
        return text
    }

    private static func template(_ name: String, in policy: AlertPolicy) throws(Problem) -> PushAlert {
        guard let template = policy.templates[name] else {
            throw Problem(.alertNotAllowed, "Alert names a template that alerts.templates does not have")
        }
        return template
    }

    private static func badge(_ body: JSONBody, _ policy: AlertPolicy) throws(Problem) -> Int? {
        guard let value = body.value("Badge") else { return nil }
        guard let badge = value.integer, PushAlert.badges.contains(badge) else {
            throw Problem(.invalidMember, "Alert.Badge must be an integer from 0 to \(PushAlert.badges.upperBound)")
        }
        guard policy.allows(badge: badge) else {
            throw Problem(.alertNotAllowed, "Alert.Badge is larger than alerts.allowed.badge, or this key is null")
        }
        return badge
    }

    private static func notAllowed(_ name: String, listedBy key: String) -> Problem {
        Problem(.alertNotAllowed, "Alert.\(name) has a value that alerts.\(key) does not list")
    }
}

extension AlertMember {
    /// The name of the alert's member in a request, such as `TitleKey`.
    fileprivate var wireName: String { self.rawValue.prefix(1).uppercased() + self.rawValue.dropFirst() }
}

internal import Foundation
internal import PushAPI
internal import PushCore
internal import PushStore

/// The stored data of one user as JSON: only data that concern this user.
struct UserData: Sendable {
    let name: Username
    /// The time at which the account was made. Older data with the user's name belong to an
    /// earlier account, which was another person's.
    let since: Date
    /// The ids of the user's registrations.
    let devices: Set<String>

    /// The document's notes about the data that it leaves out.
    private static let notes = [
        "Payload is null for a notification that was recalled or dismissed, and for one that may be read once: the export does not use it up.",
        "The server stores no password and no token, only hashes of them, which are left out.",
        "The payloads that the user has sent to others are left out: they concern their recipients. Audit has their numbers.",
        "Payloads with end-to-end encryption have no wrapped keys here: only the user's devices can read them, and they have them.",
        "Names and addresses of other users are left out of Audit.",
    ]

    /// The beginning of the document, up to its first array.
    static func head(_ user: UserEntry, _ account: AccountID, _ issued: IssuedAccount?, now: Date) -> [UInt8] {
        let account = JSONValue.object([
            .init("Name", .string(user.name.description)), .init("Account", .string(account.text)),
            .init("Role", .string(user.role.rawValue)),
            .init("Apps", .array(user.apps.sorted().map { .string($0.description) })),
            .init("Tags", .array(user.tags.map { .string($0.description) })),
            .init("CreatedAt", .string(user.createdAt.rfc3339)), .init("Disabled", .bool(user.isDisabled)),
            .init("HasPassword", .bool(user.hasPassword)),
            .init("RequiresEncryption", .bool(user.requiresEncryption)), .init("LastPush", .time(user.pushedAt)),
            .init("LastFetch", .time(user.fetchedAt)), .init("IssuerTokenAt", .time(issued?.issuedAt)),
        ])
        let notes = JSONValue.array(Self.notes.map { .string($0) })
        return Array("{\n\"ExportedAt\": \"\(now.rfc3339)\",\n\"Notes\": ".utf8) + notes.bytes
            + Array(",\n\"User\": ".utf8) + account.bytes
    }

    static func element(_ token: TokenEntry, auditName: String) -> [UInt8] {
        JSONValue.object([
            .init("Session", .bool(token.isSession)), .init("Scopes", token.scopes.json),
            .init("CreatedAt", .string(token.createdAt.rfc3339)), .init("ExpiresAt", .string(token.expiresAt.rfc3339)),
            .init("LastUse", .time(token.usedAt)), .init("AuditId", .string(auditName)),
        ]).bytes
    }

    /// The device as JSON, with the whole handle, which is the person's own data.
    static func element(_ device: DeviceEntry) -> [UInt8] {
        var members: [JSONValue.Member] = [.init("Id", .string(device.id.description))]
        switch device.state {
        case .requested: members.append(.init("State", .string("requested")))
        case .registered(let platform, let environment, let handle, let tags):
            members += [
                .init("State", .string("registered")), .init("App", .string(platform.app.description)),
                .init("Platform", .string(platform.name)), .init("Environment", .string(environment.rawValue)),
                .init("Handle", .string(handle.value)), .init("Tags", .array(tags.map { .string($0.description) })),
            ]
        case .retired(let date, let reason):
            members += [
                .init("State", .string("retired")), .init("RetiredAt", .string(date.rfc3339)),
                .init("Reason", .string(reason)),
            ]
        }
        members += [
            .init("CreatedAt", .string(device.createdAt.rfc3339)), .init("RegisteredAt", .time(device.registeredAt)),
            .init("LastPush", .time(device.pushedAt)), .init("Key", device.key.map { .string($0) } ?? .null),
        ]
        return JSONValue.object(members).bytes
    }

    static func element(
        _ entry: NotificationPage.Entry,
        of app: AppName,
        _ pushes: [DeliveryEntry],
        _ vault: Vault
    ) throws -> [UInt8] {
        var payload = JSONValue.null
        if !entry.isGone, !entry.isReadOnce {
            let text = try vault.open(entry.sealedPayload, in: .payload(entry.id, sender: entry.sender))
            var bytes = Array(text)
            EndToEndPayload.cut(&bytes, for: nil)
            payload = try JSONValue(reading: bytes)
        }
        return JSONValue.object([
            .init("Id", .number(entry.id.rawValue)), .init("App", .string(app.description)),
            .init("CreatedAt", .string(entry.createdAt.rfc3339)), .init("ExpiresAt", .string(entry.expiresAt.rfc3339)),
            .init("ReadOnce", .bool(entry.isReadOnce)), .init("Gone", .bool(entry.isGone)),
            .init("Read", .bool(entry.isRead)), .init("Fetched", .bool(entry.isFetched)),
            .init("Deliveries", .array(pushes.map { .object($0.members) })), .init("Payload", payload),
        ]).bytes
    }

    /// The event as an element of the document; `nil` for an event about another user.
    func element(_ event: PushEvent) -> [UInt8]? {
        guard event.user == self.name, event.at >= self.since else { return nil }
        return event.json.bytes
    }

    /// The entry as an element of the document; `nil` if neither the actor nor the subject of the
    /// entry is the user. If the subject is another user, the element shows the action only; if
    /// the actor is another user, the element shows no actor.
    func element(_ entry: AuditEntry) -> [UInt8]? {
        let isActor = Username(entry.actor) == self.name
        let isSubject = self.isSubject(of: entry)
        guard entry.at >= self.since, isActor || isSubject else { return nil }
        let isAboutOthers = !isSubject && !["notification", "database", "keys", "clock"].contains(entry.kind)
        func own(_ text: String, _ isOwn: Bool) -> JSONValue { isOwn ? .string(text) : .null }
        return JSONValue.object([
            .init("Number", .number(entry.number)), .init("At", .string(entry.at.rfc3339)),
            .init("Action", .string(entry.action)), .init("Subject", own(entry.subject, !isAboutOthers)),
            .init("Detail", own(entry.detail, !isAboutOthers)), .init("Actor", own(entry.actor, isActor)),
            .init("Token", own(entry.token, isActor)), .init("Client", own(entry.client, isActor)),
            .init("Request", own(entry.request, isActor)),
        ]).bytes
    }

    /// Whether the entry's subject is the user or one of the user's devices. The detail of
    /// an entry about such a device names this user, even if another account has registered the
    /// device's handle.
    private func isSubject(of entry: AuditEntry) -> Bool {
        switch entry.kind {
        case "device": self.devices.contains(entry.subject)
        case "user", "session", "token": Username(entry.subject) == self.name
        default: false
        }
    }
}

extension JSONValue {
    fileprivate static func time(_ date: Date?) -> JSONValue { date.map { .string($0.rfc3339) } ?? .null }
}

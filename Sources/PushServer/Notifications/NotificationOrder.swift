internal import Bytes
internal import CivilTime
internal import Foundation
internal import PushAPI
internal import PushCore
internal import PushStore

/// The validated content of a `POST /api/notifications`.
struct NotificationOrder {
    /// The names of the members of a body in the full form, which is a JSON object.
    static let members = [
        "App", "Payload", "To", "Platforms", "SendAt", "ExpiresIn", "Priority", "CollapseKey", "Store", "ReadOnce",
        "Alert",
    ]

    private(set) var payload: JSONValue
    let audience: Audience
    /// The time at which the server sends the notification; if it is `nil` or in the past, the
    /// server sends at once.
    let sendAt: Date?
    /// The lifetime of the payload, counted from the time of sending.
    let lifetime: Duration
    let priority: Push.Priority
    let collapseKey: String?
    let isStoredByClients: Bool
    let isReadOnce: Bool
    /// The requested alert; `nil`: pushes show the fixed alert text of the provider's
    /// configuration.
    let alert: AlertOrder?

    /// Creates the order for a request in one of the short forms: a text to one user, on one
    /// platform or on all platforms.
    init(
        payload: String,
        to username: Username,
        of app: AppName,
        platforms: Set<Platform>?,
        lifetime: Duration
    ) {
        self.payload = .string(payload)
        self.audience = Audience([.tag(Tag(of: username))], of: app, platforms: platforms)
        self.sendAt = nil
        self.lifetime = lifetime
        self.priority = .high
        self.collapseKey = nil
        self.isStoredByClients = true
        self.isReadOnce = false
        self.alert = nil
    }

    /// How long a test is valid, in seconds.
    static let testLifetime = 300

    /// Creates the order for a text that tests whether pushes reach one device of a user. The text
    /// expires soon.
    init(testing device: RegisteredDevice, of user: Int64) {
        self.payload = .string("Test.")
        self.audience = Audience(device: device.id, ofUser: user, of: device.platform.app)
        self.sendAt = nil
        self.lifetime = .seconds(Self.testLifetime)
        self.priority = .high
        self.collapseKey = nil
        self.isStoredByClients = true
        self.isReadOnce = false
        self.alert = nil
    }

    /// The longest time that a notification can be scheduled ahead.
    private static let longestSchedule: TimeInterval = 2_592_000

    /// Reads a body in the full form. Throws problems that name the faulty member.
    init(_ body: JSONBody, caller: User, settings: ServerSettings, now: Date) throws {
        guard let payload = body.value("Payload") else { throw Problem(.invalidMember, "Payload is missing") }
        self.payload = payload
        // A sender's missing variable can be null. As an absent member it would change whom the
        // notification reaches, send a scheduled notification at once, or keep its payload longer.
        try body.refuseNull(["App", "To", "Platforms", "SendAt", "ExpiresIn", "Store", "ReadOnce"])
        let expressions = try body.strings("To")?.map(Self.expression) ?? [.tag(Tag(of: caller.name))]
        guard (1...20).contains(expressions.count) else {
            throw Problem(.invalidMember, "To must have 1 to 20 elements")
        }
        let app = try settings.app(named: try body.string("App"), for: caller)
        let named = try body.strings("Platforms")?.map { try settings.platform(named: $0, of: app) }
        let platforms = named.map(Set.init) ?? settings.platforms(of: app)
        self.audience = Audience(expressions, of: app, platforms: platforms)
        self.sendAt = try Self.sendAt(body, now: now)
        self.lifetime = try Self.lifetime(body, longest: settings.lifetime(to: platforms))
        self.priority = try Self.choice(body, "Priority", ["high": .high, "normal": .normal]) ?? .high
        self.collapseKey = try body.string("CollapseKey")
        if let collapseKey, !Self.isCollapseKey(collapseKey) {
            throw Problem(.invalidMember, "CollapseKey must be 1 to 64 visible ASCII characters")
        }
        self.isStoredByClients = try Self.choice(body, "Store", ["cacheable": true, "never": false]) ?? true
        self.isReadOnce = try body.bool("ReadOnce") ?? false
        self.alert = try body.value("Alert").map {
            try AlertOrder($0, from: caller.name, allowedBy: settings.alerts)
        }
    }

    /// The payload as JSON text. Throws a problem if the user may not send to the recipients, or
    /// the payload is too large.
    func payload(from user: User, _ settings: ServerSettings) throws(Problem) -> [UInt8] {
        guard user.role.includes(.publisher) || self.isOnly(for: user.name) else {
            throw Problem(.forbidden, "the role \(user.role.rawValue) may send only to its own user")
        }
        let payload = self.payload.bytes
        guard try self.lengthForOneDevice(payload, settings) <= settings.maximumPayload else {
            throw Problem(.payloadTooLarge, "Payload is larger than \(settings.maximumPayload) bytes")
        }
        return payload
    }

    /// The length of the payload as one device gets it: an end-to-end payload for one device has
    /// one wrapped key only. Throws a problem if the app requires end-to-end encryption, or the
    /// payload is a malformed end-to-end payload.
    private func lengthForOneDevice(_ payload: [UInt8], _ settings: ServerSettings) throws(Problem) -> Int {
        guard EndToEndPayload.isClaimed(by: payload) else {
            if settings.endToEndApps.contains(self.audience.app) {
                throw Problem(.encryptionRequired, "the app \(self.audience.app) accepts end-to-end payloads only")
            }
            return payload.count
        }
        guard let length = EndToEndPayload.lengthForOneDevice(payload) else {
            throw Problem(
                .invalidMember,
                "Payload begins as an end-to-end payload, and does not have its form with wrapped keys for 1 to \(EndToEndPayload.maximumDevices) devices, sorted by their ids"
            )
        }
        return length
    }

    /// The order without its payload, for use after the payload is encrypted: it has only the
    /// parts that the answer to the sender needs.
    var withoutPayload: NotificationOrder {
        var order = self
        order.payload = .null
        return order
    }

    /// The detail that the audit stores, in addition to the notification's number.
    var auditDetail: String { self.sendAt.map { "at \($0.rfc3339)" } ?? "" }

    /// Whether `user` is the only recipient. A user with the role `device` may not send to other
    /// users.
    func isOnly(for user: Username) -> Bool {
        self.audience.expressions.allSatisfy { $0.onlyUsername == user }
    }

    private static func expression(_ text: String) throws -> TagExpression {
        do throws(TagExpression.Invalid) {
            return try TagExpression(text)
        } catch {
            throw Problem(.invalidMember, "To has an element that is not a tag expression: \(error)")
        }
    }

    private static func sendAt(_ body: JSONBody, now: Date) throws -> Date? {
        guard let text = try body.string("SendAt") else { return nil }
        guard let milliseconds = CivilTime.milliseconds(rfc3339: text) else {
            throw Problem(.invalidMember, "SendAt must be a time with its zone as in RFC 3339: 2026-11-22T08:30:00Z")
        }
        let date = Date(timeIntervalSince1970: TimeInterval(milliseconds) / 1000)
        guard date <= now + Self.longestSchedule else {
            throw Problem(.invalidMember, "SendAt must be at most \(Int(Self.longestSchedule) / 86_400) days ahead")
        }
        return date
    }

    private static func lifetime(_ body: JSONBody, longest: Duration) throws -> Duration {
        guard let seconds = try body.integer("ExpiresIn") else { return longest }
        guard (1...longest.components.seconds).contains(Int64(seconds)) else {
            throw Problem(.invalidMember, "ExpiresIn must be 1 to \(longest.components.seconds) seconds")
        }
        return .seconds(seconds)
    }

    private static func choice<Value>(_ body: JSONBody, _ name: String, _ choices: [String: Value]) throws -> Value? {
        guard let text = try body.string(name) else { return nil }
        guard let value = choices[text] else {
            let list = choices.keys.sorted().map { "\"\($0)\"" }.joined(separator: " or ")
            throw Problem(.invalidMember, "\(name) must be \(list)")
        }
        return value
    }

    private static func isCollapseKey(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && text.utf8.allSatisfy(\.isVisible)
    }
}

public import Foundation

/// A notification as its recipient fetches it.
public struct NotificationItem: Sendable, Hashable, Identifiable {
    /// The `secureId` of the push.
    public let id: Int64
    /// The content: a string, or any other JSON value. `nil` if the answer leaves it out, as the
    /// answer to a post does.
    ///
    /// If the notification comes from the cache, each access reads the JSON of the payload.
    public var payload: JSONValue? { self.content?.value }
    var content: Content?
    /// Whether the recipient has marked the notification as read.
    public internal(set) var isRead: Bool
    /// The time at which the server accepted the notification; `Date.distantPast` if the wire form
    /// lacks that time.
    public let createdAt: Date
    /// The time at which the server deletes the payload; `Date.distantFuture` if the wire form
    /// lacks that time.
    public let expiresAt: Date
    /// Whether the payload can be read only once: the server erases it soon after the first fetch.
    public let isReadOnce: Bool

    /// Creates a notification.
    public init(
        id: Int64,
        payload: JSONValue?,
        isRead: Bool,
        createdAt: Date,
        expiresAt: Date,
        isReadOnce: Bool = false
    ) {
        self.id = id
        self.content = payload.map(Content.value)
        self.isRead = isRead
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.isReadOnce = isReadOnce
    }

    /// Reads the wire form; `nil` if `Id` or `Read` is missing or of another type.
    ///
    /// If a time is missing or unreadable, it gets the value that ``createdAt`` or ``expiresAt``
    /// names.
    public init?(_ json: JSONValue) {
        guard let id = json["Id"]?.integer, case .bool(let isRead)? = json["Read"] else { return nil }
        self.id = Int64(id)
        self.content = json["Payload"].map(Content.value)
        self.isRead = isRead
        self.createdAt = json["CreatedAt"]?.text.flatMap(Date.init(rfc3339:)) ?? .distantPast
        self.expiresAt = json["ExpiresAt"]?.text.flatMap(Date.init(rfc3339:)) ?? .distantFuture
        self.isReadOnce = json["ReadOnce"] == .bool(true)
    }

    /// The payload if it is a string that a person can read: `nil` for an end-to-end payload.
    public var text: String? {
        guard let text = self.payload?.text else { return nil }
        return text.hasPrefix(Self.endToEnd) ? nil : text
    }

    /// Whether the payload is encrypted for devices: the client's `openPayload` opens it.
    public var isEndToEnd: Bool { self.payload?.text?.hasPrefix(Self.endToEnd) == true }

    private static let endToEnd = "sealpost-e2e."

    /// Decodes the payload into a type of the app.
    ///
    /// Throws `DecodingError`, also if there is no payload.
    ///
    /// ```swift
    /// struct Appointment: Decodable { let place: String }
    /// let appointment = try item.decode(Appointment.self)
    /// ```
    public func decode<Value: Decodable>(
        _ type: Value.Type,
        by decoder: JSONDecoder = JSONDecoder()
    ) throws -> Value {
        guard let content else {
            let context = DecodingError.Context(
                codingPath: [],
                debugDescription: "the notification has no payload here"
            )
            throw DecodingError.valueNotFound(type, context)
        }
        return try decoder.decode(type, from: content.bytes)
    }

    /// The wire form. It begins with `Id`, `Payload` and `Read`, as in Microsoft's tutorial.
    public var json: JSONValue {
        var members: [JSONValue.Member] = [.init("Id", .number(self.id))]
        if let payload { members.append(.init("Payload", payload)) }
        members.append(.init("Read", .bool(self.isRead)))
        members.append(.init("CreatedAt", .string(self.createdAt.rfc3339)))
        members.append(.init("ExpiresAt", .string(self.expiresAt.rfc3339)))
        if self.isReadOnce { members.append(.init("ReadOnce", .bool(true))) }
        return .object(members)
    }
}

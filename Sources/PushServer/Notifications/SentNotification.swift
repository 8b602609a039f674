internal import Foundation
internal import PushAPI
internal import PushCore
internal import PushStore

/// The full form of the answer to a post: the options that apply to the notification, and how many
/// users and devices it reaches.
///
/// The options come from the request. For a request with an `Idempotency-Key`, the store keeps the
/// id and the reach. So a repeated request gets the same answer, byte for byte.
struct SentNotification {
    let order: NotificationOrder
    let id: NotificationID
    let createdAt: Date
    let expiresAt: Date
    /// The number of users and devices that the notification reaches; `nil` as long as the server
    /// is still finding the devices of a broadcast.
    let reach: Reach?

    var json: JSONValue { .object(self.members) }

    var members: [JSONValue.Member] {
        let (order, reach) = (self.order, self.reach)
        let platforms = order.audience.platforms.map { $0.map(\.name).sorted() }
        return [
            .init("Id", .number(self.id.rawValue)),
            .init("Read", .bool(false)),
            .init("CreatedAt", .string(self.createdAt.rfc3339)),
            .init("SendAt", order.sendAt.map { .string($0.rfc3339) } ?? .null),
            .init("ExpiresAt", .string(self.expiresAt.rfc3339)),
            .init("App", .string(order.audience.app.description)),
            .init("To", .array(order.audience.expressions.map { .string($0.description) })),
            .init("Platforms", platforms.map { .array($0.map { .string($0) }) } ?? .null),
            .init("Priority", .string(order.priority.rawValue)),
            .init("CollapseKey", order.collapseKey.map { .string($0) } ?? .null),
            .init("Store", .string(order.isStoredByClients ? "cacheable" : "never")),
            .init("ReadOnce", .bool(order.isReadOnce)),
            .init("Alert", order.alert?.json ?? .null),
            .init("Recipients", reach.map { .number($0.recipients) } ?? .null),
            .init("Pushes", reach.map { .number($0.pushes) } ?? .null),
            .init("More", .bool(reach == nil)),
        ]
    }
}

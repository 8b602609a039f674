package import Foundation
internal import PushAPI
package import PushCore

/// The message with events that the server posts to the receiver that the operator has configured.
/// Each event has the form of `GET /api/events`; the message around the events has the form that
/// the specification Standard Webhooks recommends.
package enum EventMessage {
    /// The JSON text of the message. It has the events in the order of their numbers, and contains
    /// no payload of a notification.
    package static func body(of events: [PushEvent], at time: Date) -> [UInt8] {
        let message = JSONValue.object([
            .init("type", .string("sealpost.events")),
            .init("timestamp", .string(time.rfc3339)),
            .init("data", .object([.init("Events", .array(events.map(\.json)))])),
        ])
        return message.bytes
    }
}

extension PushEvent {
    /// The event in the form of `GET /api/events`.
    var json: JSONValue {
        let platform = self.platform.map(Platform.init(stored:))
        return .object([
            .init("Number", .number(self.number)),
            .init("At", .string(self.at.rfc3339)),
            .init("Kind", .string(self.kind.rawValue)),
            .init("Notification", self.notification.map { .number($0.rawValue) } ?? .null),
            .init("Device", self.device.map { .string($0.description) } ?? .null),
            .init("User", self.user.map { .string($0.description) } ?? .null),
            .init("App", platform.map { .string($0.app.description) } ?? .null),
            .init("Platform", platform.map { .string($0.name) } ?? .null),
            .init("Reason", self.reason.map { .string($0) } ?? .null),
        ])
    }
}

package import Foundation
internal import PushAPI
package import PushCore

/// The message that the operator's receiver gets: events in the form of `GET /api/events`, within
/// the envelope that the Standard Webhooks specification recommends.
package enum EventMessage {
    /// The JSON text. It has the events in the order of their numbers, and no payload.
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
    /// The wire form.
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

internal import Foundation
internal import HTTPTypes
internal import Logging
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Opens event streams, which carry pushes to devices of the platform type `stream`.
struct StreamHandler: Handler {
    let store: any DeviceStore
    let settings: ServerSettings
    let authenticator: Authenticator
    let pages: PageSessions
    /// The open event streams.
    let streams: StreamHub
    let workIsWaiting: WakeUp
    let logger: Logger
    let now: @Sendable () -> Date
    let turns = WakeTurns()

    var routes: [Route] {
        [
            Route(.get, Paths.stream, .atLeast(.device, .fetch), query: ["device"]) { try await self.openStream($0) }
        ]
    }

    private static let streamFields: ResponseFields = [
        .contentType: "text/event-stream", .cacheControl: "no-store",
        // This field tells nginx not to buffer the answer: an event would not reach the client
        // while it is in a buffer.
        .accelBuffering: "no",
    ]

    private func openStream(_ context: RequestContext) async throws -> Response {
        let device = try Query(context.request.head.query)["device"]
        let devices = try await self.streamDevices(device, of: context.user, context.reader)
        guard !devices.isEmpty else {
            // The answer is the same for another user's device and for a missing device.
            guard device == nil else { throw Problem(.notFound) }
            throw Problem(.notFound, "the user has no device on a platform of type stream; register one first")
        }
        var response = Response(status: .ok, fields: Self.streamFields)
        guard context.request.head.method == .get else {
            response.streamingBody = { _ in }
            return response
        }
        let handles = devices.map(\.handle)
        let caller = try context.known
        guard let subscription = self.streams.open(handles, ofUser: caller.user.id) else {
            throw Problem(
                .tooManyStreams,
                "a user may have at most \(StreamHub.maximumPerUser) event streams; close one first"
            )
        }
        // Credentials may have ended after the check of the caller and before the stream was
        // opened. The stream was not informed of that, so it checks the credentials again.
        if self.authenticator.receivesEnds { subscription.mailbox.revalidate() }
        let stream = EventStream(
            handler: self,
            caller: caller,
            credentials: try Credentials(
                of: context.request,
                identityField: self.settings.identityField,
                pages: self.pages
            ),
            reader: context.reader,
            device: device,
            devices: devices.map(\.id),
            // WHATWG HTML §9.2.4. The field is ignored if its value is not the id of a
            // notification.
            last: context.request.head[.lastEventID].flatMap { NotificationID($0) },
            subscription: subscription
        )
        response.streamingBody = stream.run
        return response
    }

    /// The user's registered devices on platforms of the type `stream`: the device with the given
    /// id, or all if the id is `nil`.
    func streamDevices(_ id: String?, of user: User, _ reader: any SharedReader) async throws -> [RegisteredDevice] {
        try await reader.devices(ofUser: user.id).filter { device in
            self.settings.platforms[device.platform]?.isStream == true
                && (id == nil || id == device.id.description)
        }
    }
}

internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

extension PushServer {
    static let streamRoutes = [
        Route(.get, Paths.stream, .atLeast(.device, .fetch)) { try $0.openStream($1) }
    ]

    private static let streamFields: ResponseFields = [
        .contentType: "text/event-stream", .cacheControl: "no-store",
        // What nginx goes by: an event is of no use in a proxy's buffer.
        .accelBuffering: "no",
    ]

    private func openStream(_ call: Call) throws -> Response {
        let device = try Query(call.request.head.query)["device"]
        let devices = try self.streamDevices(device, of: call.user, loop: call.request.loopIndex)
        guard !devices.isEmpty else {
            // Another's device and none at all are one answer.
            guard device == nil else { throw Problem(.notFound) }
            throw Problem(.notFound, "no device of this user is registered on a platform with streams")
        }
        var response = Response(status: .ok, fields: Self.streamFields)
        guard call.request.head.method == .get else {
            response.production = { _ in }
            return response
        }
        let handles = devices.map(\.handle)
        guard let subscription = self.streams.open(handles, ofUser: try call.user.id), let caller = call.caller else {
            throw Problem(.tooManyStreams, "at most \(StreamHub.maximumPerUser) at once")
        }
        let stream = EventStream(
            server: self,
            caller: caller,
            credentials: try self.credentials(of: call.request),
            loop: call.request.loopIndex,
            device: device,
            devices: devices.map(\.id),
            // WHATWG HTML §9.2.4. What is none of our ids asks for nothing.
            last: call.request.head[.lastEventID].flatMap { NotificationID($0) },
            subscription: subscription
        )
        response.production = stream.run
        return response
    }

    /// The living devices of a user that have an event stream: the one of that id, or all.
    func streamDevices(_ id: String?, of user: User, loop: Int) throws -> [RegisteredDevice] {
        try self.readers[loop].devices(ofUser: user.id).filter { device in
            self.settings.platforms[device.platform]?.isStream == true
                && (id == nil || id == device.id.description)
        }
    }
}

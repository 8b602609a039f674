internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Registers and unregisters the devices of a user.
struct RegistrationHandler: Handler {
    let store: any DeviceStore
    let settings: ServerSettings
    /// Tells the delivery that there is work.
    let workIsWaiting: @Sendable () -> Void

    var routes: [Route] {
        [
            Route(.post, Paths.register, .atLeast(.device, .register), query: ["handle"]) {
                try await self.requestRegistration($0)
            },
            Route(.get, Paths.register, .atLeast(.device, .register)) { try await self.listRegistrations($0) },
            Route(
                .put,
                Paths.registration("{id}"),
                .atLeast(.device, .register),
                body: ["Platform", "Handle", "Tags"]
            ) { try await self.register($0) },
            Route(.delete, Paths.registration("{id}"), .atLeast(.device, .register)) { try await self.unregister($0) },
        ]
    }

    /// The tutorial's clients cut the first and the last character off the body: it must be a quoted string.
    private func requestRegistration(_ context: RequestContext) async throws -> Response {
        // A body is allowed and ignored.
        _ = try await context.request.body.collect()
        let handle = try Query(context.request.head.query)["handle"].map { text in
            guard let handle = self.settings.handle(of: text) else {
                throw Problem(.invalidParameter, "handle \(DeviceHandle.rule)")
            }
            return handle
        }
        let id = try await self.store.requestRegistration(ofUser: context.user.id, handle: handle, now: context.now)
        return Response(uncached: .string(id.description))
    }

    private func register(_ context: RequestContext) async throws -> Response {
        let id = try self.registrationID(context)
        let body = try JSONBody(try await context.request.body.collect())
        let registration = try DeviceRegistration(body, id: id, settings: self.settings)
        let record = try context.record(.registerDevice, of: id.description, detail: registration.platform.description)
        let bounds = try self.settings.storage[context.user.role]
        let outcome = try await self.store.register(
            registration,
            as: id,
            for: context.user,
            by: record,
            within: bounds,
            now: context.now
        )
        switch outcome {
        case .registered(let moved):
            if moved > 0 { self.workIsWaiting() }
            return .empty
        case .gone(let reason): throw Problem(.registrationGone, reason)
        case .tooMany:
            throw Problem(
                .tooManyDevices,
                bounds.map { "at most \($0.devices) devices per user; unregister one" }
            )
        }
    }

    private func unregister(_ context: RequestContext) async throws -> Response {
        let id = try self.registrationID(context)
        let record = try context.record(.unregisterDevice, of: id.description)
        guard try await self.store.unregister(id, ofUser: context.user.id, by: record) else { throw Problem(.notFound) }
        return .empty
    }

    private func listRegistrations(_ context: RequestContext) async throws -> Response {
        let devices = try await context.reader.devices(ofUser: context.user.id)
        return Response(
            uncached: .array(
                devices.map { device in
                    .object([
                        .init("Id", .string(device.id.description)),
                        .init("Platform", .string(device.platform.description)),
                        .init("Handle", .string(device.handle.masked)),
                        .init("Tags", .array(device.tags.map { .string($0.description) })),
                        .init("CreatedAt", .string(device.createdAt.rfc3339)),
                        .init("LastPush", device.pushedAt.map { .string($0.rfc3339) } ?? .null),
                    ])
                }
            )
        )
    }

    // MARK: - Decoding

    private func registrationID(_ context: RequestContext) throws -> RegistrationID {
        guard let id = RegistrationID(context.parameter) else {
            throw Problem(.invalidParameter, "the registration id must be 1 to 128 letters, digits, -, _ or .")
        }
        return id
    }
}

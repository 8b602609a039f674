internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

extension PushServer {
    static let registrationRoutes = [
        Route(.post, Paths.register, .atLeast(.device, .register)) { try await $0.requestRegistration($1) },
        Route(.get, Paths.register, .atLeast(.device, .register)) { try $0.listRegistrations($1) },
        Route(.put, Paths.registration("{id}"), .atLeast(.device, .register)) { try await $0.register($1) },
        Route(.delete, Paths.registration("{id}"), .atLeast(.device, .register)) { try await $0.unregister($1) },
    ]

    /// The tutorial's clients cut the first and the last character off the body: it must be a quoted string.
    private func requestRegistration(_ call: Call) async throws -> Response {
        // A body is allowed and means nothing.
        _ = try await call.request.body.collect()
        let handle = try Query(call.request.head.query)["handle"].map { text in
            guard let handle = self.settings.handle(of: text) else {
                throw Problem(.invalidParameter, "handle \(DeviceHandle.rule)")
            }
            return handle
        }
        let id = try await self.store.requestRegistration(ofUser: call.user.id, handle: handle, now: call.now)
        return Response(uncached: .string(id.description))
    }

    private func register(_ call: Call) async throws -> Response {
        let id = try self.registrationID(call)
        let body = try JSONBody(try await call.request.body.collect())
        let registration = try DeviceRegistration(body, id: id, settings: self.settings)
        let record = try call.record(.registerDevice, of: id.description, detail: registration.platform.description)
        let bounds = try self.settings.storage[call.user.role]
        let outcome = try await self.store.register(
            registration,
            as: id,
            for: call.user,
            by: record,
            within: bounds,
            now: call.now
        )
        switch outcome {
        case .registered(let moved):
            if moved > 0 { self.workIsWaiting() }
            return .empty
        case .gone(let reason): throw Problem(.registrationGone, reason)
        case .tooMany:
            throw Problem(
                .tooManyDevices,
                bounds.map { "at most \($0.devices) at once; unregister one that is not used" }
            )
        }
    }

    private func unregister(_ call: Call) async throws -> Response {
        let id = try self.registrationID(call)
        let record = try call.record(.unregisterDevice, of: id.description)
        guard try await self.store.unregister(id, ofUser: call.user.id, by: record) else { throw Problem(.notFound) }
        return .empty
    }

    private func listRegistrations(_ call: Call) throws -> Response {
        let devices = try self.readers[call.request.loopIndex].devices(ofUser: call.user.id)
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

    private func registrationID(_ call: Call) throws -> RegistrationID {
        guard let id = RegistrationID(call.parameter) else {
            throw Problem(.invalidParameter, "the registration id is not 1 to 128 letters, digits, -, _ or .")
        }
        return id
    }
}

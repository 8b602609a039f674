internal import Foundation
internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Registers and unregisters the devices of a user.
struct RegistrationHandler: Handler {
    let store: any DeviceStore
    let settings: ServerSettings
    let ids: NotificationIDs
    /// Wakes the service that sends pushes.
    let workIsWaiting: WakeUp

    /// How long the list of a user's devices shows a device whose handle another account has
    /// registered.
    private static let movedDevicesAreListed = Duration.seconds(30 * 86400)

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
                body: ["App", "Platform", "Environment", "Handle", "Tags", "Shared"]
            ) { try await self.register($0) },
            Route(.post, Paths.confirmation("{id}"), .atLeast(.device, .register)) { try await self.confirm($0) },
            Route(.delete, Paths.registration("{id}"), .atLeast(.device, .register)) { try await self.unregister($0) },
        ]
    }

    /// Issues a registration id. The body is the id in quotes, because the clients of Microsoft's
    /// tutorial cut off the first and the last character of the body.
    private func requestRegistration(_ context: RequestContext) async throws -> Response {
        // A body is allowed and ignored.
        _ = try await context.request.body.collect()
        let handle = try Query(context.request.head.query)["handle"].map { text in
            guard let handle = self.settings.handle(of: text) else {
                throw Problem(.invalidParameter, "handle \(DeviceHandle.rule)")
            }
            return handle
        }
        let id = try await self.store.requestRegistration(
            ofUser: context.user.id,
            handle: handle,
            as: .random(),
            now: context.now
        )
        return Response(uncached: .string(id.description))
    }

    private func register(_ context: RequestContext) async throws -> Response {
        let id = try self.registrationID(context)
        let body = try JSONBody(try await context.request.body.collect())
        // If the drawn notification id is in use already, the loop draws another one, as for a
        // post.
        for attempt in 0..<NotificationPoster.maximumAttempts {
            guard let confirmation = self.ids.draw(at: context.now, attempt: attempt) else { continue }
            let registration = try DeviceRegistration(
                body,
                id: id,
                of: context.user,
                settings: self.settings,
                confirmation: confirmation
            )
            try await self.checkPurpose(of: registration, as: id, context)
            let outcome = try await self.store.register(
                registration,
                as: id,
                for: context.user,
                with: context.token?.prefix,
                by: context.record(.registerDevice, of: id.description),
                within: self.settings.storage[context.user.role],
                now: context.now
            )
            if outcome != .idTaken { return try self.answer(outcome, context) }
        }
        return try self.answer(.idTaken, context)
    }

    /// Throws a problem if the registration would change a device for calls into a device for
    /// other pushes, or the reverse. The queued pushes stay with the device, so the phone would
    /// ring for pushes that are not calls.
    private func checkPurpose(
        of registration: DeviceRegistration,
        as id: RegistrationID,
        _ context: RequestContext
    ) async throws {
        guard self.settings.hasCalls, let (owner, device) = try await context.reader.device(id) else { return }
        let isForCalls = self.settings.isForCalls
        guard try owner.id != context.user.id || isForCalls(device.platform) == isForCalls(registration.platform) else {
            throw Problem(
                .invalidMember,
                "Platform is for calls, or the registered \(device.platform.name) is; register each under an id of its own"
            )
        }
    }

    /// Confirms a registration. A repeated request gets the same answer as the first one, whose
    /// answer may have been lost.
    private func confirm(_ context: RequestContext) async throws -> Response {
        let id = try self.registrationID(context)
        let body = try JSONValue(body: try await context.request.body.collect())
        guard let code = body.text else { throw Problem(.invalidJSON, "the body is \(body.kind), not a string") }
        let outcome = try await self.store.confirm(
            code,
            for: id,
            of: context.user,
            with: context.token?.prefix,
            by: context.record(.registerDevice, of: id.description),
            within: self.settings.storage[context.user.role],
            now: context.now
        )
        return try self.answer(outcome, context)
    }

    private func answer(_ outcome: RegisterOutcome, _ context: RequestContext) throws -> Response {
        switch outcome {
        case .registered(let moved):
            if moved > 0 { self.workIsWaiting() }
            return .empty
        case .unconfirmed(let hasWork):
            if hasWork { self.workIsWaiting() }
            return .empty
        case .idTaken: throw Problem(.busy, "no free notification id was found; try again")
        case .tooManyClaims(let until):
            throw TryLater(.tooManyConfirmations, seconds: until.timeIntervalSince(context.now))
        case .refused: throw Problem(.confirmationRefused)
        case .missing: throw Problem(.notFound)
        case .gone(let reason): throw Problem(.registrationGone, reason)
        case .tooMany:
            let bounds = try self.settings.storage[context.user.role]
            throw Problem(
                .tooManyDevices,
                bounds.map { "a user may have at most \($0.devices) devices; unregister one first" }
            )
        case .signedOut: throw Problem(.invalidBearerToken)
        }
    }

    private func unregister(_ context: RequestContext) async throws -> Response {
        let id = try self.registrationID(context)
        let record = try context.record(.unregisterDevice, of: id.description)
        // The client gets this answer even if the registration is missing or belongs to another
        // user.
        _ = try await self.store.unregister(id, ofUser: context.user.id, by: record)
        return .empty
    }

    private func listRegistrations(_ context: RequestContext) async throws -> Response {
        let user = try context.user.id
        let devices = try await context.reader.devices(ofUser: user)
        let since = context.now - Self.movedDevicesAreListed.timeInterval
        let moved = try await context.reader.movedDevices(ofUser: user, since: since)
        return Response(uncached: .array(devices.map(self.item) + moved.map(self.item)))
    }

    private func item(_ device: RegisteredDevice) -> JSONValue {
        var members: [JSONValue.Member] = [
            .init("Id", .string(device.id.description)),
            .init("App", .string(device.platform.app.description)),
            .init("Platform", .string(device.platform.name)),
            .init("Environment", .string(device.environment.rawValue)),
            .init("Handle", .string(device.handle.masked)),
            .init("Tags", .array(device.tags.map { .string($0.description) })),
            .init("Shared", .bool(device.isShared)),
            .init("CreatedAt", .string(device.createdAt.rfc3339)),
            .init("LastPush", device.pushedAt.map { .string($0.rfc3339) } ?? .null),
            .init("Key", device.key.map { .string($0) } ?? .null),
        ]
        // The list shows the server's key: a browser whose subscription was made with another key
        // must subscribe again.
        if let key = self.settings.platforms[device.platform]?.applicationServerKey {
            members.append(.init("ServerKey", .string(key)))
        }
        return .object(members)
    }

    /// A device whose handle another account has registered, as JSON. The JSON has all members of
    /// a registered device, for clients that expect them; the handle is `…`, because the server
    /// has erased the real one.
    private func item(_ device: MovedDevice) -> JSONValue {
        .object([
            .init("Id", .string(device.id.description)),
            .init("App", .string(device.platform.app.description)),
            .init("Platform", .string(device.platform.name)),
            .init("Environment", .null),
            .init("Handle", .string("…")),
            .init("Tags", .array([])),
            .init("Shared", .bool(false)),
            .init("CreatedAt", .string(device.createdAt.rfc3339)),
            .init("LastPush", .null),
            .init("Key", .null),
            .init("RetiredAt", .string(device.movedAt.rfc3339)),
            .init("Reason", .string(MovedDevice.reason)),
        ])
    }

    // MARK: - Decoding

    private func registrationID(_ context: RequestContext) throws -> RegistrationID {
        guard let id = RegistrationID(context.parameter) else {
            throw Problem(.invalidParameter, "the registration id must be 1 to 128 letters, digits, -, _ or .")
        }
        return id
    }
}

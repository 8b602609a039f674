internal import Foundation
internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Shows administrators the devices of all users, and lets them unregister a device.
struct DeviceAdministrationHandler: Handler {
    let store: any DeviceStore
    let reports: ReportReader
    let scope: AppScope

    var routes: [Route] {
        [
            Route(.get, Paths.devices, .atLeast(.admin, .manage, seeing: .view), query: ["user", "cursor", "limit"]) {
                try await self.listDevices($0)
            },
            Route(.delete, Paths.device("{id}"), .atLeast(.admin, .manage)) { try await self.deleteDevice($0) },
        ]
    }

    /// Lists registrations of one user or of all, a page at a time. Throws a `not-found` problem
    /// for a user whom the caller does not see.
    private func listDevices(_ context: RequestContext) async throws -> Response {
        let query = try Query(context.request.head.query)
        let user = try query["user"].map { text in
            guard let name = Username(text) else { throw Problem(.invalidParameter, "user must be a user name") }
            return name
        }
        let apps = self.scope.limit(of: try context.user)
        let last = try query.start { self.scope.text(ofCursor: $0, within: apps).flatMap(DevicePlace.init(cursor:)) }
        let size = try query.limit
        try await self.scope.check(user: user, within: apps, context.reader)
        var scan = ListScan<DeviceEntry, DevicePlace>(
            after: last,
            limit: size,
            step: apps == nil ? size : ListScanLimits.step,
            place: \.place,
            where: { $0.isSeen(within: apps, seesUser: user != nil) }
        )
        try await scan.run { last, count in
            try await self.reports.run { try await $0.deviceEntries(of: user, after: last, limit: count) }
        }
        let showsHandles = try context.known.isManaging
        return Response(
            page: "Devices",
            scan.found.map { $0.json(showsHandle: showsHandles) },
            cursor: try self.scope.cursor(scan.last?.cursor, within: apps),
            hasMore: scan.hasMore
        )
    }

    /// Unregisters a device. The device may register again: an administrator who wants to keep a
    /// user out must disable the user.
    private func deleteDevice(_ context: RequestContext) async throws -> Response {
        guard
            let id = RegistrationID(context.parameter),
            try await self.store.deleteDevice(id, by: context.record(.unregisterDevice, of: id.description))
        else { throw Problem(.notFound) }
        return .noContent
    }
}

extension DevicePlace {
    /// Reads a cursor: milliseconds since 1970 and the device's internal number, with a dot in
    /// between.
    fileprivate init?(cursor: String) {
        let parts = cursor.split(separator: ".", omittingEmptySubsequences: false)
        // Milliseconds below 2^53 are exact in a `Date`.
        guard
            parts.count == 2, let time = Int64(parts[0]), time.magnitude < 1 << 53, let number = Int64(parts[1]),
            number > 0
        else { return nil }
        self.init(createdAt: Date(timeIntervalSince1970: TimeInterval(time) / 1000), number: number)
    }

    fileprivate var cursor: String {
        "\(Int64((self.createdAt.timeIntervalSince1970 * 1000).rounded())).\(self.number)"
    }
}

extension DeviceEntry {
    /// Whether a caller sees the device; `limit` are the apps that the caller sees, or `nil` for
    /// all. A device that is not registered has no app, so the caller sees it only if the caller
    /// sees the device's user (`seesUser`).
    func isSeen(within limit: Set<AppName>?, seesUser: Bool) -> Bool {
        guard let limit else { return true }
        if case .registered(let platform, _, _, _) = self.state { return limit.contains(platform.app) }
        return seesUser
    }

    /// The device as JSON. `showsHandle` is `false` for viewers, who do not even see the first and
    /// last characters of a handle.
    fileprivate func json(showsHandle: Bool) -> JSONValue {
        var (app, platform, environment) = (JSONValue.null, JSONValue.null, JSONValue.null)
        var (handle, tags) = (JSONValue.null, [JSONValue]())
        var (retiredAt, reason) = (JSONValue.null, JSONValue.null)
        let name: String
        switch self.state {
        case .requested: name = "requested"
        case .registered(let sender, let place, let address, let ownTags):
            name = "registered"
            (app, platform) = (.string(sender.app.description), .string(sender.name))
            environment = .string(place.rawValue)
            if showsHandle { handle = .string(address.masked) }
            tags = ownTags.map { .string($0.description) }
        case .retired(let date, let text):
            name = "retired"
            (retiredAt, reason) = (.string(date.rfc3339), .string(text))
        }
        return .object([
            .init("Id", .string(self.id.description)),
            .init("User", .string(self.username.description)),
            .init("State", .string(name)),
            .init("App", app),
            .init("Platform", platform),
            .init("Environment", environment),
            .init("Handle", handle),
            .init("Tags", .array(tags)),
            .init("CreatedAt", .string(self.createdAt.rfc3339)),
            .init("RegisteredAt", self.registeredAt.map { .string($0.rfc3339) } ?? .null),
            .init("LastPush", self.pushedAt.map { .string($0.rfc3339) } ?? .null),
            .init("LastFetch", self.fetchedAt.map { .string($0.rfc3339) } ?? .null),
            .init("RetiredAt", retiredAt),
            .init("Reason", reason),
        ])
    }
}

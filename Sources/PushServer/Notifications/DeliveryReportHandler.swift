internal import Foundation
internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// What became of a notification's pushes.
extension PushServer {
    static let deliveryRoutes = [
        Route(.get, "\(Paths.notifications)/{id}/deliveries", .atLeast(.publisher, .send)) {
            try await $0.listDeliveries($1)
        },
        Route(.post, Paths.deviceTest("{id}"), .atLeast(.device, .send)) { try await $0.testDevice($1) },
    ]

    // MARK: Deliveries

    private func listDeliveries(_ call: Call) async throws -> Response {
        let query = try Query(call.request.head.query)
        let limit = try query.limit
        guard let start = Int64(try query["cursor"] ?? "0"), start >= 0 else {
            throw Problem(.invalidParameter, "cursor is none that was given out")
        }
        let user = try call.user
        let (sender, now) = (user.role == .admin ? nil : user.id, call.now)
        guard
            let id = NotificationID(call.parameter),
            try self.readers[call.request.loopIndex].isThere(id, from: sender, now: now)
        else { throw Problem(.notFound) }
        let counts = try await self.deliveryCounts.counts(of: id, now: now) { device in
            try await self.reports.run {
                try $0.countDeliveries(of: id, after: device, limit: DeliveryCounts.countedAtOnce)
            }
        }
        // One more than asked for tells whether there are more.
        let entries = try await self.reports.run { try $0.deliveries(of: id, after: start, limit: limit + 1) }
        let shown = entries.prefix(limit)
        return Response(
            uncached: .object([
                .init("Counts", .object(DeliveryStage.allCases.map { .init($0.rawValue, .number(counts[$0] ?? 0)) })),
                .init("Deliveries", .array(shown.map(\.json))),
                .init("Cursor", .string(String(shown.last?.number ?? start))),
                .init("More", .bool(entries.count > limit)),
            ])
        )
    }

    // MARK: Testing a device

    /// How long the provider's answer is waited for; shorter than a handler may take.
    private static let testDeadline = Duration.seconds(20)
    /// What nobody tells of, such as a push that expires before it is sent, is looked for after so long.
    static let testPause = Duration.seconds(5)

    private func testDevice(_ call: Call) async throws -> Response {
        let user = try call.user
        let reader = self.readers[call.request.loopIndex]
        guard
            let device = try reader.devices(ofUser: user.id).first(where: { $0.id.description == call.parameter })
        else { throw Problem(.notFound) }
        let order = NotificationOrder(testing: device.id, of: user.id)
        let id = try await self.store(order, payload: order.payload.bytes, of: call) { _ in
            try call.record(.testDevice, of: device.id.description)
        }.id
        let answer = try await self.settlements.watching(id) { bell in
            try await self.answer(to: id, at: device.number, reader, bell)
        }
        return Response(
            uncached: .object([
                .init("Device", .string(device.id.description)),
                .init("State", .string(answer.state)),
                .init("Reason", answer.reason.map { .string($0) } ?? .null),
            ])
        )
    }

    /// Looks at once, whenever the bell rings, and now and then.
    private func answer(
        to id: NotificationID,
        at device: Int64,
        _ reader: Reader,
        _ bell: Signal?
    ) async throws -> (state: String, reason: String?) {
        let deadline = ContinuousClock.now + Self.testDeadline
        while true {
            let entry = try reader.deliveries(of: id, after: device - 1, limit: 1).first
            if let answer = Self.answer(to: entry, isLate: bell == nil || .now >= deadline) { return answer }
            await bell?.wait(atMost: min(Self.testPause, max(.zero, deadline - .now)))
            try Task.checkCancellation()
        }
    }

    /// `nil` as long as the provider may still say something.
    private static func answer(to entry: DeliveryEntry?, isLate: Bool) -> (state: String, reason: String?)? {
        switch entry?.state {
        case .accepted, .fetched, .read: ("accepted", nil)
        case .failed, .expired, .cancelled: ("failed", entry?.reason)
        case .queued where entry?.reason != nil: ("queued", entry?.reason)
        // The device has gone away meanwhile.
        case nil: ("failed", "the device is gone")
        case .queued, .sending: isLate ? ("queued", "the provider has not answered yet") : nil
        }
    }
}

extension DeliveryEntry {
    fileprivate var json: JSONValue {
        .object([
            .init("Device", self.device.map { .string($0.description) } ?? .null),
            .init("User", self.username.map { .string($0.description) } ?? .null),
            .init("Platform", .string(self.platform)),
            .init("State", .string(self.state.rawValue)),
            .init("Attempts", .number(self.attempts)),
            .init("UpdatedAt", self.updatedAt.map { .string($0.rfc3339) } ?? .null),
            .init("Reason", self.reason.map { .string($0) } ?? .null),
        ])
    }
}

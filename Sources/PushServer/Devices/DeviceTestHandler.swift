internal import Foundation
internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Sends a push to one device, and returns the answer of the device's provider. The device must be
/// the caller's, unless the caller is an administrator.
struct DeviceTestHandler: Handler {
    let poster: NotificationPoster
    /// Signals when the delivery has stored the outcome of pushes.
    let settlements: SettlementWatch
    let daemon: Daemon
    /// The names of the platforms that have a sender.
    let platforms: Set<String>

    var routes: [Route] {
        [Route(.post, Paths.deviceTest("{id}"), .atLeast(.device, .send)) { try await self.testDevice($0) }]
    }

    /// How long a test waits for the provider's answer; shorter than the deadline of handlers.
    private static let testDeadline = Duration.seconds(20)
    /// A test reads the push's state at this interval even without a signal. Some changes of the
    /// state send no signal; for example, a push may expire before it is sent.
    static let testPause = Duration.seconds(5)

    private func testDevice(_ context: RequestContext) async throws -> Response {
        let user = try context.user
        guard
            let id = RegistrationID(context.parameter),
            let (owner, device) = try await context.reader.device(id),
            owner.id == user.id || user.role == .admin
        else { throw Problem(.notFound) }
        let order = NotificationOrder(testing: device, of: owner.id)
        let detail = owner.id == user.id ? "" : owner.name.description
        let sent = try await self.poster.post(order, payload: order.payload.bytes, of: context) { _ in
            try context.record(.testDevice, of: device.id.description, detail: detail)
        }
        let answer = try await self.settlements.watching(sent.id, for: user.id) { bell in
            try await self.answer(to: sent.id, at: device.number, context, for: user, bell)
        }
        return Response(
            uncached: .object([
                .init("Device", .string(device.id.description)),
                .init("State", .string(answer.state)),
                .init("Reason", answer.reason.map { .string($0) } ?? .null),
            ])
        )
    }

    /// Waits for the push's outcome: reads the state of the push at once, at each signal, and
    /// every `testPause`.
    private func answer(
        to id: NotificationID,
        at device: Int64,
        _ context: RequestContext,
        for user: User,
        _ bell: Signal?
    ) async throws -> (state: String, reason: String?) {
        let deadline = ContinuousClock.now + Self.testDeadline
        while true {
            let entry = try await context.reader.deliveries(of: id, after: device - 1, limit: 1).first
            if let answer = Self.answer(to: entry, isLate: bell == nil || .now >= deadline) { return answer }
            if let entry, entry.state == .queued, let reason = self.obstacle(in: entry.lane, context.now, for: user) {
                return ("queued", reason)
            }
            await bell?.wait(atMost: min(Self.testPause, max(.zero, deadline - .now)))
            try Task.checkCancellation()
        }
    }

    /// The reason why the lane (the queue of pushes to the device's provider) sends nothing now.
    /// `nil` if the lane may send the push, even if the lane is paused and sends this push only to
    /// test the provider.
    ///
    /// Only administrators and viewers see the reason of a pause, which may be about other users'
    /// devices.
    private func obstacle(in lane: Lane, _ now: Date, for user: User) -> String? {
        let pauses = self.daemon.pauses()
        if let pause = pauses[lane] ?? nil, pause.until <= now { return nil }
        let diagnosis = Diagnosis(now: now, pauses: pauses, platforms: self.platforms, receivers: [:])
        guard let (cause, text) = diagnosis.obstacle(in: lane) else { return nil }
        return cause == .paused && !user.role.seesAll ? "the provider accepts no pushes now" : text
    }

    /// The push's state and the reason for it, which the handler returns to the client; `nil` as
    /// long as the provider may still answer.
    private static func answer(to entry: DeliveryEntry?, isLate: Bool) -> (state: String, reason: String?)? {
        switch entry?.state {
        case .accepted, .fetched, .read: ("accepted", nil)
        case .failed, .expired, .cancelled: ("failed", entry?.reason)
        case .queued where entry?.reason != nil: ("queued", entry?.reason)
        // The device no longer has a push of this notification: it was unregistered meanwhile.
        case nil: ("failed", "the device is no longer registered")
        case .queued, .sending: isLate ? ("queued", "the provider has not answered yet") : nil
        }
    }
}

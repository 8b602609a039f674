package import Foundation
package import PushCore

/// The result of the first transaction of a registration.
package struct RegistrationEnd: Sendable {
    let outcome: RegisterOutcome
    /// The number of the registered device; `nil` if no device was registered.
    let device: Int64?

    package init(_ outcome: RegisterOutcome) { (self.outcome, self.device) = (outcome, nil) }

    /// The plan's device is registered, and the first page of its queued pushes has moved to its
    /// new address.
    package init(_ plan: RegistrationPlan, moved: Int) {
        (self.outcome, self.device) = (.registered(moved: moved), plan.device)
    }
}

extension DeviceStore {
    /// Creates or updates a registration under an id that was issued to the user.
    ///
    /// Other registrations of the same handle on the same platform are retired, and their queued
    /// pushes are cancelled. If several accounts may share the handle, only the user's own other
    /// registrations are retired. Pushes that wait for the device itself go to its new address.
    /// `page` is the number of pushes that one transaction moves; if it is `nil`, the store
    /// decides.
    ///
    /// If `registration.confirmation` is not `nil`, and the user does not have the handle yet,
    /// only a code is pushed to the handle now. All of the above happens when the user returns the
    /// code. `record` names the user and the id. The store adds to the record whether the device
    /// has registered or only claimed the handle. If another user had the handle, the store also
    /// records that the handle has moved.
    ///
    /// `token` is the token that the user has presented. If it belongs to a session, the device
    /// belongs to this session from now on, and is retired if somebody ends the session. Otherwise
    /// the device belongs to no session.
    package func register(
        _ registration: DeviceRegistration,
        as id: RegistrationID,
        for user: User,
        with token: TokenPrefix? = nil,
        by record: AuditRecord? = nil,
        within bounds: StorageBounds? = nil,
        page: Int? = nil,
        now: Date
    ) async throws -> RegisterOutcome {
        let decision = RegistrationDecision(user, with: token, by: record, within: bounds, self.sealing, now: now)
        return try await self.finish(decision, page) { decision.register(registration, as: id, $0) }
    }

    /// Registers the handle that the device with this id has claimed, if `code` is the code that
    /// was pushed to the handle.
    ///
    /// The same code is accepted again until it would have expired. `token` has the same meaning
    /// as in `register`.
    package func confirm(
        _ code: String,
        for id: RegistrationID,
        of user: User,
        with token: TokenPrefix?,
        by record: AuditRecord?,
        within bounds: StorageBounds?,
        now: Date
    ) async throws -> RegisterOutcome {
        let decision = RegistrationDecision(user, with: token, by: record, within: bounds, self.sealing, now: now)
        return try await self.finish(decision, nil) { try decision.confirm(code, for: id, $0) }
    }

    /// Moves a device, with its queued pushes, to the lane (a provider's queue) of its platform's
    /// other environment; returns whether the device was moved.
    ///
    /// The device stays if it has another handle or lane by now. It also stays if it was already
    /// moved there and back since it registered. `page` is the number of pushes that one
    /// transaction moves; if it is `nil`, the store decides. In the new lane, a push continues as
    /// if it had just been enqueued. It counts as cancelled in the old lane and as enqueued in the
    /// new lane, so the sums of each lane stay consistent.
    package func move(
        device: Int64,
        handle: String,
        from lane: Lane,
        to other: Lane,
        page: Int? = nil,
        now: Date
    ) async throws -> Bool {
        guard let key = DeviceHandle(handle).map(self.sealing.index.hash) else { return false }
        let page = page ?? Self.movingPage
        let first = try await self.move(device: device, handleKey: key, from: lane, to: other, page: page, now: now)
        guard let first else { return false }
        _ = try await self.moveRemaining(ofDevice: device, after: first, page: page, now: now)
        return true
    }

    /// Moves the pushes that remain after the first page. Returns the number of all moved pushes.
    ///
    /// Each further page is moved in its own transaction. A server that meanwhile takes a push
    /// from the old queue moves the push instead of sending it.
    private func moveRemaining(ofDevice device: Int64, after first: Int, page: Int, now: Date) async throws -> Int {
        var (moved, last) = (first, first)
        while last == page {
            last = try await self.moveQueued(ofDevice: device, page: page, now: now)
            moved += last
        }
        return moved
    }

    private func finish(
        _ decision: RegistrationDecision,
        _ page: Int?,
        _ decide: @escaping @Sendable (RegistrationFacts) throws -> RegistrationStep
    ) async throws -> RegisterOutcome {
        let page = page ?? Self.movingPage
        let end = try await self.follow(decision, page: page, decide)
        guard let device = end.device, case .registered(let moved) = end.outcome else { return end.outcome }
        let total = try await self.moveRemaining(ofDevice: device, after: moved, page: page, now: decision.now)
        return .registered(moved: total)
    }
}

package import Foundation
package import PushCore

/// The result of a registration's first transaction.
package enum RegistrationEnd<Outcome: HandleOutcome>: Sendable {
    case end(Outcome)
    /// The device with that number is registered, and a page of its pushes has moved.
    case registered(Int64, moved: Int)
}

extension DeviceStore {
    /// Creates or updates a registration under an id that was issued to the user.
    ///
    /// Other registrations of the same platform and handle are retired, and their queued pushes
    /// cancelled. A shared registration retires only the user's own other registrations. The
    /// pushes that wait for the device itself go to its new address. `page` is how many pushes
    /// move in one transaction; with `nil` the store decides.
    ///
    /// With a `confirmation` all of this happens only when the user confirms the handle. Until
    /// then, only a code is pushed to the handle. `record` names the user and the id. The store
    /// adds to the audit whether it was a claim or a registration, and that the handle has moved
    /// if another user had it.
    ///
    /// `token` is the token that the user has presented. If it is a session's, the device belongs
    /// to that session from now on, and is retired if somebody ends the session. Otherwise the
    /// device belongs to no session.
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

    /// Registers the handle that the user has claimed under the id, if the code is the one that
    /// was pushed to it.
    ///
    /// The code that has registered the handle is accepted again until it would have expired.
    /// `token` is as in `register`.
    package func confirm(
        _ code: String,
        for id: RegistrationID,
        of user: User,
        with token: TokenPrefix?,
        by record: AuditRecord?,
        within bounds: StorageBounds?,
        now: Date
    ) async throws -> ConfirmOutcome {
        let decision = RegistrationDecision(user, with: token, by: record, within: bounds, self.sealing, now: now)
        return try await self.finish(decision, nil) { try decision.confirm(code, for: id, $0) }
    }

    /// Moves a device, with its queued pushes, to the lane of its platform's other environment;
    /// returns whether it did.
    ///
    /// The device stays if it has another handle or lane by now, or was moved there and back since
    /// it registered. `page` is how many pushes move in one transaction; with `nil` the store
    /// decides. A push continues in the new lane as if it had just been enqueued there. The tally
    /// counts the push as cancelled in the old lane and as enqueued in the new one, so each lane's
    /// counts add up.
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

    /// Moves the pushes that remain after the first page; returns the total number of moved
    /// pushes.
    ///
    /// Each further page has its own transaction. If a push is leased before its page moves, the
    /// lease moves the push.
    private func moveRemaining(ofDevice device: Int64, after first: Int, page: Int, now: Date) async throws -> Int {
        var (moved, last) = (first, first)
        while last == page {
            last = try await self.moveQueued(ofDevice: device, page: page, now: now)
            moved += last
        }
        return moved
    }

    private func finish<Outcome>(
        _ decision: RegistrationDecision,
        _ page: Int?,
        _ decide: @escaping @Sendable (RegistrationFacts) throws -> RegistrationStep<Outcome>
    ) async throws -> Outcome {
        let page = page ?? Self.movingPage
        switch try await self.follow(decision, page: page, decide) {
        case .end(let outcome): return outcome
        case .registered(let device, let moved):
            let total = try await self.moveRemaining(ofDevice: device, after: moved, page: page, now: decision.now)
            return .registered(moved: total)
        }
    }
}

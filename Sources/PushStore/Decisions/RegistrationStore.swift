package import Foundation
package import PushCore

/// A store that reads and writes for a `RegistrationDecision`.
package protocol RegistrationStore: DeviceStore {
    var sealing: Sealing { get }
    /// The number of pushes that one transaction moves to a device's new lane.
    static var movingPage: Int { get }

    /// In one transaction, reads the facts that the decision asks for, and writes its plan.
    func follow<Outcome>(
        _ decision: RegistrationDecision,
        page: Int,
        _ decide: @escaping @Sendable (RegistrationFacts) throws -> RegistrationStep<Outcome>
    ) async throws -> RegistrationEnd<Outcome>

    /// Moves queued pushes of a device to the device's present lane, at most `page`, in one
    /// transaction. Returns the number of moved pushes.
    func moveQueued(ofDevice device: Int64, page: Int, now: Date) async throws -> Int
}

/// The result of the first transaction of a registration.
package enum RegistrationEnd<Outcome: HandleOutcome>: Sendable {
    case end(Outcome)
    /// The device with this number is registered, and the first page of its pushes has moved.
    case registered(Int64, moved: Int)
}

extension RegistrationStore {
    package func register(
        _ registration: DeviceRegistration,
        as id: RegistrationID,
        for user: User,
        with token: TokenPrefix?,
        by record: AuditRecord?,
        within bounds: StorageBounds?,
        page: Int?,
        now: Date
    ) async throws -> RegisterOutcome {
        let decision = RegistrationDecision(user, with: token, by: record, within: bounds, self.sealing, now: now)
        return try await self.finish(decision, page) { decision.register(registration, as: id, $0) }
    }

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

    /// Moves the pushes that remain after the first page. Returns the number of all moved pushes.
    ///
    /// Each further page is moved in its own transaction. If a push is leased before that, the
    /// lease moves it.
    package func moveRemaining(ofDevice device: Int64, after first: Int, page: Int, now: Date) async throws -> Int {
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

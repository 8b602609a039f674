package import Foundation
package import PushCore

/// A store that follows `RegistrationDecision`.
package protocol RegistrationStore: DeviceStore {
    var sealing: Sealing { get }
    /// How many pushes move to a device's new lane in one transaction.
    static var movingPage: Int { get }

    /// Reads the facts of a decision and writes its plan, in one transaction.
    func follow<Outcome>(
        _ decision: RegistrationDecision,
        page: Int,
        _ decide: @escaping @Sendable (RegistrationFacts) throws -> RegistrationStep<Outcome>
    ) async throws -> RegistrationEnd<Outcome>

    /// Moves queued pushes of a device to its lane, in one transaction; returns how many, at most
    /// `page`.
    func moveQueued(ofDevice device: Int64, page: Int, now: Date) async throws -> Int
}

/// The result of a registration's first transaction.
package enum RegistrationEnd<Outcome: HandleOutcome>: Sendable {
    case end(Outcome)
    /// The device with that number is registered, and a page of its pushes has moved.
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

    /// Moves the pushes that remain after the first page; returns the total number of moved
    /// pushes.
    ///
    /// Each further page has its own transaction. If a push is leased before its page moves, the
    /// lease moves the push.
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

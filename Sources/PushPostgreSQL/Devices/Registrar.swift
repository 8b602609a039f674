internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

/// Reads the facts for a `RegistrationDecision`, and writes the plan that the decision returns, in
/// one transaction. It locks the user's row first. So the registrations of one user run one after
/// the other, on whichever servers they arrive.
struct Registrar {
    let tx: WriteTransaction
    let decision: RegistrationDecision
    /// The maximum number of pushes that this transaction moves to the device's new lane (a
    /// provider's queue).
    let page: Int

    var now: Date { self.decision.now }
    var sealing: Sealing { self.decision.sealing }
    var user: Int64 { self.decision.user.id }

    /// The error for a handle that another transaction has registered since this transaction
    /// searched for devices with this handle.
    struct HandleTaken: Error {}

    /// Reads the facts that the decision asks for, one after the other, until it returns a plan;
    /// then writes the plan.
    func run(_ decide: (RegistrationFacts) throws -> RegistrationStep) async throws -> RegistrationEnd {
        try await self.lockUser()
        var facts = RegistrationFacts()
        while true {
            switch try facts.next(decide) {
            case .read(let question): try await self.read(question, into: &facts)
            case .end(let outcome): return .init(outcome)
            case .register(let plan): return .init(plan, moved: try await self.write(plan))
            case .claim(let plan, let outcome, let other): return .init(try await self.write(plan) ? outcome : other)
            case .countFailure(let key, let outcome):
                _ = try await self.tx.query(Self.countFailure, key, HandleClaim.attempts)
                return .init(outcome)
            }
        }
    }

    private static let countFailure =
        "update confirmation set failures = failures + 1 where handle_key = $1 and failures < $2"

    func change(_ change: TopicChange, of id: RegistrationID) async throws -> TopicOutcome {
        try await self.lockUser()
        let (outcome, plan) = try self.decision.change(change, of: try await self.device(id))
        guard let plan else { return outcome }
        let tags = try self.sealing.seal(plan.tags, in: .tags(plan.device))
        _ = try await self.tx.query("update device set tags = $2 where number = $1", plan.device, tags)
        try await self.replaceTags(of: plan.device, by: plan.tags)
        if let record = plan.record { self.tx.append(record) }
        return outcome
    }

    /// Writes only the difference to the stored tags: a device registers often, and mostly with
    /// the same tags.
    func replaceTags(of device: Int64, by tags: Set<Tag>) async throws {
        let tags = Set(tags.map(self.sealing.index.hash))
        let old = Set(try await self.tx.query(Self.tagsOfDevice, device).map { try $0.data() })
        let (gone, new) = (old.subtracting(tags), tags.subtracting(old))
        if !gone.isEmpty { _ = try await self.tx.query(Self.removeTags, device, Array(gone)) }
        if !new.isEmpty { _ = try await self.tx.query(Self.addTags, device, Array(new)) }
    }

    private static let tagsOfDevice = "select tag from device_tag where device = $1"
    private static let removeTags = "delete from device_tag where device = $1 and tag = any($2::bytea[])"
    private static let addTags = """
        insert into device_tag (device, tag) select $1, t.tag from pg_catalog.unnest($2::bytea[]) as t (tag) on conflict do nothing
        """

    private func lockUser() async throws {
        // It does not matter whether the statement finds a row. If the user was deleted meanwhile,
        // the next statements find no registrations of this user.
        _ = try await self.tx.query(PostgreSQLStore.lockUserID, self.user)
    }
}

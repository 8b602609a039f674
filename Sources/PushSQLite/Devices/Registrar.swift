internal import Foundation
internal import PushCore
internal import PushStore
internal import SQLite

/// Reads the facts for a `RegistrationDecision`, and writes the plan that the decision returns, in
/// one transaction.
struct Registrar: Sendable {
    let writer: Writer
    let pusher: Pusher
    let audit: AuditTrail
    let decision: RegistrationDecision
    /// The maximum number of pushes that this transaction moves to the device's new lane (a
    /// provider's queue).
    let page: Int

    var now: Date { self.decision.now }
    var sealing: Sealing { self.decision.sealing }
    var user: Int64 { self.decision.user.id }

    /// Reads the facts that the decision asks for, one after the other, until it returns a plan;
    /// then writes the plan.
    func run(_ db: Database, _ decide: (RegistrationFacts) throws -> RegistrationStep) throws -> RegistrationEnd {
        var facts = RegistrationFacts()
        while true {
            switch try facts.next(decide) {
            case .read(let question): try self.read(question, into: &facts, db)
            case .end(let outcome): return .end(outcome)
            case .register(let plan): return .registered(plan.device, moved: try self.write(plan, db))
            case .claim(let plan, let outcome, let other): return .end(try self.write(plan, db) ? outcome : other)
            case .countFailure(let key, let outcome):
                try db.run(prepared: Self.countFailure, key, HandleClaim.attempts)
                return .end(outcome)
            }
        }
    }

    private static let countFailure =
        "update confirmation set failures = failures + 1 where handle_key = ? and failures < ?"

    /// Writes the plan of a change of topics.
    func write(_ plan: RegistrationDecision.TopicPlan, _ db: Database) throws {
        let tags = try self.sealing.seal(plan.tags, in: .tags(plan.device))
        try db.run("update device set tags = \(tags) where number = \(plan.device)")
        try self.replaceTags(of: plan.device, by: plan.tags, db)
        self.writer.recordErasure()
        try self.audit.append([plan.record], to: db)
    }

    /// Writes only the difference to the stored tags: a device registers often, and mostly with
    /// the same tags.
    func replaceTags(of device: Int64, by new: Set<Tag>, _ db: Database) throws {
        let tags = Set(new.map(self.sealing.index.hash))
        let old = Set(try db.all("select tag from device_tag where device = \(device)") { $0.data(0) })
        for tag in old.subtracting(tags) {
            try db.run("delete from device_tag where device = \(device) and tag = \(tag)")
        }
        for tag in tags.subtracting(old) {
            try db.run("insert into device_tag (device, tag) values (\(device), \(tag))")
        }
    }
}

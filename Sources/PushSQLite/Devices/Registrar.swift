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
            case .end(let outcome): return .init(outcome)
            case .register(let plan): return .init(plan, moved: try self.write(plan, db))
            case .claim(let plan, let outcome, let other): return .init(try self.write(plan, db) ? outcome : other)
            case .countFailure(let key, let outcome):
                try db.run(SQL(sql: Self.countFailure), key, HandleClaim.attempts)
                return .init(outcome)
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
        let old = Set(try db.all("select tag from device_tag where device = \(device)") { try $0.data() })
        for tag in old.subtracting(tags) {
            try db.run("delete from device_tag where device = \(device) and tag = \(tag)")
        }
        for tag in tags.subtracting(old) {
            try db.run("insert into device_tag (device, tag) values (\(device), \(tag))")
        }
    }
}

extension Registrar {
    func read(_ question: RegistrationQuestion, into facts: inout RegistrationFacts, _ db: Database) throws {
        switch question {
        case .isSignedIn(let token):
            facts.isSignedIn = try db.exists(SQL(sql: Self.token), token.description)
        case .device(let id, _):
            facts.device = try self.device(id, db).map { [$0] } ?? []
        case .isHeld(let search):
            facts.isHeld = try db.exists(SQL(sql: Self.held), self.user, search.platform.description, search.key)
        case .holders(let search):
            let (platform, key, user) = (search.platform.description, search.key, search.user)
            facts.holders = try db.all(SQL(sql: Self.holders), platform, key, user, decode: StoredDevice.init)
        case .claim(_, let device):
            facts.claim = try db.all(SQL(sql: Self.claim), device, decode: StoredDevice.init)
        case .confirmation(let key):
            facts.confirmation = try db.all(SQL(sql: Self.confirmation), key, decode: Confirmation.init)
        case .pushAtLimit(let since, let count):
            let since = since.milliseconds
            facts.pushAtLimit = try db.all(SQL(sql: Self.newestPushes), self.user, since, count) { try $0.date() }
        case .deviceCount(let replaced, let limit):
            facts.deviceCount = try db.number(SQL(sql: Self.count), self.user, replaced, limit).map(Int.init)
        case .names(let users):
            facts.names = [:]
            for user in users { facts.names?[user] = try db.first(SQL(sql: Self.name), user) { try $0.data() } }
        }
    }

    func device(_ id: RegistrationID, _ db: Database) throws -> StoredDevice? {
        try db.first(SQL(sql: Self.issued), id.description, self.user, decode: StoredDevice.init)
    }

    private static let token = "select 1 from token where prefix = ?"
    private static let issued = "\(StoredDevice.select) where d.id = ? and d.user_id = ? and d.claims_for is null"
    static let held =
        "select 1 from device indexed by device_by_user where user_id = ? and platform = ? and handle_key = ? limit 1"
    static let holders = """
        \(StoredDevice.select)
        where d.platform = ?1 and d.handle_key = ?2 and (?3 is null or d.user_id = ?3) order by d.number
        """
    static let claim = "\(StoredDevice.select) where d.claims_for = ?"
    private static let confirmation = "\(Confirmation.select) where c.handle_key = ?"
    static let newestPushes = """
        select pushed_at from confirmation where user_id = ? and pushed_at > ? order by pushed_at desc limit 1 offset ?
        """
    private static let count = """
        select count(*) from (
            select 1 from device
            where user_id = ? and handle is not null and claims_for is null and number is not ? limit ?)
        """
    private static let name = "select name from account where id = ?"
}

internal import Foundation
internal import PushCore
internal import PushStore
internal import SQLite

extension SQLiteStore {
    /// Cancels the pushes that satisfy the condition and are not settled.
    ///
    /// A push that is being sent cannot be stopped. It is not retried, and the provider's answer
    /// decides whether it counts as accepted.
    static func cancel(_ db: Database, where condition: SQL, reason: String, now: Date) throws {
        try db.run(
            """
            update delivery set is_withdrawn = 1, reason = \(reason)
            where settled_at is null and state = 'sending' and \(condition)
            """
        )
        let lanes = try db.all(
            """
            update delivery set state = 'cancelled', settled_at = \(now.milliseconds), reason = \(reason)
            where settled_at is null and state = 'queued' and \(condition)
            returning lane
            """
        ) { $0.text(0) }
        var tally = TallyCount()
        for lane in lanes { tally.add(.cancelled, lane: lane) }
        try tally.write(db)
    }
}

extension Pusher {
    /// Cancels one push in the same way as `SQLiteStore.cancel`.
    func cancel(_ push: DuePush, reason: String, _ db: Database, now: Date) throws {
        let lane = try db.first(
            """
            update delivery set state = 'cancelled', settled_at = \(now.milliseconds), reason = \(reason)
            where notification_id = \(push.notification) and device = \(push.device) and settled_at is null and state = 'queued'
            returning lane
            """
        ) { $0.text(0) }
        if let lane { return self.notes.count(.cancelled, lane: lane) }
        try db.run(
            """
            update delivery set is_withdrawn = 1, reason = \(reason)
            where notification_id = \(push.notification) and device = \(push.device) and settled_at is null and state = 'sending'
            """
        )
    }
}

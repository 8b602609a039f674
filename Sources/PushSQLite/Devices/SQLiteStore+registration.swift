package import Foundation
package import PushCore
package import PushStore
internal import SQLite

extension SQLiteStore {
    package static var movingPage: Int { AudienceWalk.page }

    package func follow(
        _ decision: RegistrationDecision,
        page: Int,
        _ decide: @escaping @Sendable (RegistrationFacts) throws -> RegistrationStep
    ) async throws -> RegistrationEnd {
        let registrar = self.registrar(decision, page: page)
        return try await self.writer.write { try registrar.run($0, decide) }
    }

    package func moveQueued(ofDevice device: Int64, page: Int, now: Date) async throws -> Int {
        try await self.writer.write { [pusher] in try pusher.moveQueued(ofDevice: device, page: page, $0, now: now) }
    }

    package func change(
        _ change: TopicChange,
        of id: RegistrationID,
        for user: User,
        by record: AuditRecord?,
        now: Date
    ) async throws -> TopicOutcome {
        let decision = RegistrationDecision(user, with: nil, by: record, within: nil, self.sealing, now: now)
        let registrar = self.registrar(decision, page: Self.movingPage)
        return try await self.writer.write { db in
            let (outcome, plan) = try decision.change(change, of: registrar.device(id, db))
            if let plan { try registrar.write(plan, db) }
            return outcome
        }
    }

    private func registrar(_ decision: RegistrationDecision, page: Int) -> Registrar {
        Registrar(writer: self.writer, pusher: self.pusher, audit: self.audit, decision: decision, page: page)
    }
}

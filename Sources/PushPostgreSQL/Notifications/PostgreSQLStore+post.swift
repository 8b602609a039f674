internal import Foundation
internal import PostgreSQL
internal import PushCore
package import PushStore
internal import Synchronization

extension PostgreSQLStore {
    package func post(
        _ posts: [NewPost],
        of batch: IdempotentRequest?,
        within bounds: StorageBounds?,
        page: Int?
    ) async throws -> [PostOutcome] {
        guard let first = posts.first?.notification else { return [] }
        let page = page ?? Self.fanoutPage
        let posts = posts.map { PreparedPost($0, self.sealing.index, self.options.tags) }
        let lastOutcomes = Mutex<[PostOutcome]>([])
        func run(_ run: PostBatch.Run) async throws -> [PostOutcome]? {
            try await self.write { tx in
                var posting = try await PostBatch(
                    posts,
                    of: batch,
                    from: first,
                    within: bounds,
                    run,
                    page: page,
                    by: self,
                    tx
                )
                let outcomes = try await posting.store(posts, of: batch)
                if let outcomes { lastOutcomes.withLock { $0 = outcomes } }
                return outcomes
            }
        }
        func runUntilKnown(_ first: PostBatch.Run) async throws -> [PostOutcome] {
            let outcomes: [PostOutcome]?
            do {
                outcomes = try await run(first)
            } catch StoreError.unknownOutcome(let reason) {
                // A sender without an idempotency key could only send it again, under another id.
                do {
                    outcomes = try await run(.afterLoss)
                } catch StoreError.unavailable {
                    throw StoreError.unknownOutcome(reason: reason)
                }
            }
            return outcomes ?? lastOutcomes.withLock(\.self)
        }
        do {
            return try await runUntilKnown(.first)
        } catch is PostBatch.Overtaken {
            return try await runUntilKnown(.overtaken)
        }
    }
}

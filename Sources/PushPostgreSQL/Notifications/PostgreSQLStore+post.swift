internal import Foundation
internal import PostgreSQL
internal import PushCore
package import PushStore

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
        func run(_ check: PostBatch.BoundsCheck) async throws -> [PostOutcome] {
            try await self.write { tx in
                var run = try await PostBatch(
                    posts,
                    of: batch,
                    from: first,
                    within: bounds,
                    check,
                    page: page,
                    by: self,
                    tx
                )
                return try await run.store(posts, of: batch)
            }
        }
        do {
            return try await run(.late)
        } catch is PostBatch.Overtaken {
            return try await run(.early)
        }
    }
}

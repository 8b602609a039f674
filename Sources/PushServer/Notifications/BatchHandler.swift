internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Accepts many notifications in one request.
///
/// A few worker threads, apart from the event loops, process the batches. A worker stores a batch
/// in small transactions, one after the other, so that the store's writer can store single posts
/// in between.
struct BatchHandler: Handler {
    /// The number of batches that are processed concurrently: while one batch waits for a commit,
    /// the other batch is read and encrypted.
    private static let workers = 2

    static let members = ["Notifications"]

    private let poster: BatchPoster
    private let idempotency: IdempotencyGuard
    private let settings: ServerSettings
    private let memory: BodyMemory
    private let pool: FairPool

    init(poster: BatchPoster) {
        self.poster = poster
        self.idempotency = poster.idempotency
        self.settings = poster.settings
        // The memory suffices for eight bodies of the largest size, at most two of them of one
        // user.
        self.memory = BodyMemory(
            limit: poster.settings.maximumBatch * 8,
            limitPerUser: poster.settings.maximumBatch * 2,
            refusal: Problem(.busy, "too many batches are being received")
        )
        self.pool = FairPool(
            workers: Self.workers,
            timeout: poster.settings.batchTimeout,
            refusal: Problem(.busy, "the queue of batches is full")
        )
    }

    var routes: [Route] {
        [
            Route(
                .post,
                Paths.notificationBatch,
                .atLeast(.device, .send),
                body: RouteBody(Self.members, isCheckedByHandler: true)
            ) { try await self.postBatch($0) }
        ]
    }

    private func postBatch(_ context: RequestContext) async throws -> Response {
        let user = try context.user
        try PostHandler.refuse(PostHandler.parameters, in: Query(context.request.head.query))
        // For users who may send only to themselves, a batch has the same size limit as other
        // bodies: only backends need larger batches.
        guard user.role.includes(.publisher) else {
            return try await self.post(context.request.body.collect(), of: context)
        }
        let length = context.request.body.declaredLength ?? self.settings.maximumBatch
        guard length <= self.settings.maximumBatch else { throw BodyError.tooLarge }
        try self.memory.reserve(length, for: user.id)
        defer { self.memory.release(length, of: user.id) }
        return try await self.post(context.request.body.collect(upTo: length), of: context)
    }

    private func post(_ body: [UInt8], of context: RequestContext) async throws -> Response {
        let caller = try context.known
        let origin = BatchPoster.Origin(
            user: caller.user,
            quota: caller.quota,
            changes: caller.changes,
            actor: try context.actor,
            request: context.id,
            key: try self.idempotency.keyed(context),
            isStrict: context.isStrict,
            now: context.now
        )
        let answer = try await self.pool.run(for: caller.user.id) { [poster] _ in
            try await poster.post(body, of: origin)
        }
        return Response(
            status: .ok,
            fields: [.contentType: "application/json; charset=utf-8", .cacheControl: "no-store"],
            body: answer
        )
    }
}

internal import Foundation
internal import PushAPI
internal import PushCore
internal import PushStore

/// Stores the notifications of one request, each with an outcome of its own.
struct BatchPoster: Sendable {
    static let countRange = 1...500
    /// The most elements, and bytes of payloads, of one transaction: few enough that another post that waits for it is
    /// not noticeably delayed.
    private static let (chunk, chunkBytes) = (400, 1 << 19)
    /// The most elements of the first transaction: few, since the writer has nothing to do until they are read.
    private static let firstChunk = 150

    let poster: NotificationPoster
    let idempotency: IdempotencyGuard
    let settings: ServerSettings
    let failures: FailureReport

    /// The request that a batch came with, as far as it matters apart from its event loop.
    struct Origin: Sendable {
        let user: User
        let quota: CallerQuota?
        let changes: CallerQuota?
        let actor: AuditRecord.Actor
        let request: RequestID
        let key: IdempotencyGuard.KeyedRequest?
        let isStrict: Bool
        let now: Date
        /// The time that its ids are drawn at, unlike that of any other batch.
        let moment = Date(timeIntervalSince1970: .random(in: 0..<1e9))
    }

    /// An element that is ready to be stored.
    private struct Draft {
        /// Its index in the batch.
        let number: Int
        let order: NotificationOrder
        var post: NewPost
    }

    /// The elements of one transaction.
    private struct Portion {
        var drafts: [Draft] = []
        /// Those that cannot be stored, by their index in the batch.
        var refused: [(number: Int, problem: Problem)] = []
        /// The index of the first element behind it.
        var end: Int
    }

    /// Stores what the body asks for; returns the body of the answer. Throws a problem if the batch as a whole is
    /// refused; then nothing of it is stored.
    ///
    /// While one portion is committed, the next one is read and sealed, and the answer about the one before is written.
    func post(_ body: [UInt8], of origin: Origin) async throws -> [UInt8] {
        let batch = origin.key.map { self.idempotency.request($0, body: body) }
        if let batch { try self.idempotency.begin(batch) }
        defer { if let batch { self.idempotency.end(batch) } }
        let late = ContinuousClock.now + self.settings.batchTimeout
        let elements = try self.elements(of: body, origin)
        var outcomes = BatchOutcomes(elements.count, before: Self.tooLate)
        var answer = BatchAnswer()
        var (next, start): (Portion?, Int) = (self.read(elements, from: 0, of: origin, in: batch), 0)
        while let portion = next, .now < late {
            for (number, problem) in portion.refused { outcomes[number] = .failure(problem) }
            async let following =
                portion.end < elements.count ? self.read(elements, from: portion.end, of: origin, in: batch) : nil
            let done = outcomes[answer.count..<start]
            async let text = BatchAnswer.text(of: done, in: origin.request)
            if let stop = try await self.store(portion.drafts, in: batch, of: origin, to: &outcomes) {
                for number in portion.end..<elements.count { outcomes[number] = .failure(stop) }
                break
            }
            answer.append(await text, of: done.count)
            (next, start) = (await following, portion.end)
        }
        let rest = outcomes[answer.count..<elements.count]
        answer.append(BatchAnswer.text(of: rest, in: origin.request), of: rest.count)
        return answer.body
    }

    // MARK: - Private

    private static let tooLate = Problem(.busy, "the batch took too long; send the rest again")

    private func elements(of body: [UInt8], _ origin: Origin) throws(Problem) -> [JSONValue] {
        let json = try JSONValue(body: body)
        guard case .object = json else { throw Problem(.invalidJSON, "the body is \(json.kind), not an object") }
        if origin.isStrict { try StrictHandling(members: BatchHandler.members).check(json) }
        guard let elements = try JSONBody(json).array("Notifications") else {
            throw Problem(.invalidMember, "Notifications is missing")
        }
        guard Self.countRange.contains(elements.count) else {
            throw Problem(.invalidMember, "Notifications must have 1 to \(Self.countRange.upperBound) elements")
        }
        return elements
    }

    /// Reads the next elements, and seals their payloads.
    private func read(
        _ elements: [JSONValue],
        from start: Int,
        of origin: Origin,
        in batch: IdempotentRequest?
    ) -> Portion {
        var portion = Portion(end: start)
        var bytes = 0
        // Of some hundred ids of a moment two would often be the same, and what follows the second would wait for another commit.
        var ids: Set<NotificationID> = []
        let end = start == 0 ? Self.firstChunk : start + Self.chunk
        for number in start..<min(end, elements.count) where bytes < Self.chunkBytes {
            do {
                let draft = try self.draft(elements[number], number, of: origin, in: batch, besides: ids)
                ids.insert(draft.post.notification.id)
                bytes += draft.post.notification.sealedPayload.count
                portion.drafts.append(draft)
            } catch {
                portion.refused.append((number, self.failures.problem(of: error, in: origin.request)))
            }
            portion.end = number + 1
        }
        return portion
    }

    private func draft(
        _ element: JSONValue,
        _ number: Int,
        of origin: Origin,
        in batch: IdempotentRequest?,
        besides ids: Set<NotificationID>
    ) throws -> Draft {
        // The first one was paid for with the request itself.
        if number > 0, let quota = origin.quota?.take(now: origin.now), quota.isExceeded {
            throw Problem(.rateLimited, "the next request is available in \(quota.seconds) seconds")
        }
        if number > 0, let changes = origin.changes?.take(now: origin.now), changes.isExceeded {
            throw Problem(.rateLimited, "\(Quotas.changesAreUsedUp); one more is available in \(changes.seconds) s")
        }
        guard case .object = element else {
            throw Problem(.invalidMember, "the element is \(element.kind), not an object")
        }
        if origin.isStrict { try StrictHandling(members: NotificationOrder.members).check(element) }
        let order = try NotificationOrder(
            JSONBody(element),
            caller: origin.user,
            settings: self.settings,
            now: origin.now
        )
        let payload = try order.payload(from: origin.user, self.settings)
        var request: IdempotentRequest?
        if let key = origin.key, let batch { request = self.idempotency.element(number, of: key, batch) }
        let post = try self.newPost(order.withoutPayload, payload, number, of: origin, besides: ids, once: request)
        return Draft(number: number, order: order.withoutPayload, post: post)
    }

    /// Ids of one transaction are near each other, and those of other transactions elsewhere: batches are posted so fast
    /// that ids of one moment would often be the same.
    private func newPost(
        _ order: NotificationOrder,
        _ payload: [UInt8],
        _ number: Int,
        of origin: Origin,
        besides ids: Set<NotificationID> = [],
        once request: IdempotentRequest?
    ) throws -> NewPost {
        let moment = origin.moment + TimeInterval((number + Self.chunk - Self.firstChunk) / Self.chunk)
        return try self.poster.newPost(
            order,
            payload,
            from: origin.user,
            now: origin.now,
            idAt: moment,
            besides: ids,
            once: request
        ) { id in
            AuditRecord(.send, of: "\(id)", detail: order.auditDetail, by: origin.actor, at: origin.now)
        }
    }

    /// The draft with another id, to which its payload is sealed anew.
    private func renewed(_ draft: Draft, of origin: Origin) throws -> Draft {
        let taken = draft.post.notification
        let place = SealedPlace.payload(taken.id, sender: taken.sender)
        let payload = Array(try self.poster.store.vault.open(taken.sealedPayload, in: place))
        var draft = draft
        draft.post = try self.newPost(draft.order, payload, draft.number, of: origin, once: draft.post.request)
        return draft
    }

    /// Stores the drafts of a portion. Those whose ids are taken get others, and are stored before the next portion, so
    /// that elements with one collapse key are stored in their order. Returns why no other could be stored now, if so.
    private func store(
        _ drafts: [Draft],
        in batch: IdempotentRequest?,
        of origin: Origin,
        to outcomes: inout BatchOutcomes
    ) async throws -> Problem? {
        var rest = drafts
        for _ in 0..<NotificationPoster.tries where !rest.isEmpty {
            let stored = await self.store(rest[...], in: batch, of: origin)
            var again: [Draft] = []
            for (draft, result) in zip(rest, stored.results) {
                switch result {
                case .success(let posted?):
                    outcomes[draft.number] = .success(SentNotification(posted: posted, order: draft.order))
                case .success(nil): again.append(try self.renewed(draft, of: origin))
                case .failure(let problem) where problem.code == .idempotencyKeyReused: throw problem
                case .failure(let problem): outcomes[draft.number] = .failure(problem)
                }
            }
            if let stop = stored.stop { return stop }
            rest = again
        }
        for draft in rest { outcomes[draft.number] = .failure(NotificationPoster.noFreeID) }
        return nil
    }

    /// Stores drafts in one transaction. If that fails for one of them, each gets a transaction of its own, so that the
    /// failure is its own, too. `stop` is why no other could be stored now.
    private func store(
        _ drafts: ArraySlice<Draft>,
        in batch: IdempotentRequest?,
        of origin: Origin
    ) async -> (results: [Result<NotificationPoster.Posted?, Problem>], stop: Problem?) {
        do {
            let outcomes = try await self.poster.store(
                drafts.map(\.post),
                of: batch,
                from: origin.user,
                in: origin.request
            )
            let results = zip(drafts, outcomes).map { draft, outcome in
                Result { () throws(Problem) in
                    try self.poster.posted(draft.post.notification, outcome, from: origin.user)
                }
            }
            return (results, nil)
        } catch let error as StoreError where error.concernsAll || drafts.count == 1 {
            let problem = self.failures.problem(of: error, in: origin.request)
            return (drafts.map { _ in .failure(problem) }, error.concernsAll ? problem : nil)
        } catch {
            if drafts.count == 1 { return ([.failure(self.failures.problem(of: error, in: origin.request))], nil) }
        }
        var (results, stop): ([Result<NotificationPoster.Posted?, Problem>], Problem?) = ([], nil)
        for index in drafts.indices {
            if let stop {
                results.append(.failure(stop))
                continue
            }
            let own = await self.store(drafts[index...index], in: batch, of: origin)
            results += own.results
            stop = own.stop
        }
        return (results, stop)
    }
}

extension StoreError {
    /// Whether other writes would fail, too.
    fileprivate var concernsAll: Bool {
        switch self {
        case .busy, .full, .broken, .unavailable, .unknownOutcome: true
        default: false
        }
    }
}

internal import Foundation
internal import Logging
internal import PushAPI
internal import PushCore
internal import PushStore

/// Stores the notifications of one request, a batch; each notification has an outcome of its own.
struct BatchPoster: Sendable {
    static let countRange = 1...500
    /// The largest number of elements, and of payload bytes, of one transaction. The numbers are
    /// small enough that another post does not wait noticeably.
    private static let (chunk, chunkBytes) = (400, 1 << 19)
    /// The largest number of elements of the first transaction: the number is small, since the
    /// store's writer is idle until these elements are read.
    private static let firstChunk = 150

    let poster: NotificationPoster
    let idempotency: IdempotencyGuard
    let settings: ServerSettings
    let failures: FailureReport
    let reports: ReportReader

    /// The parts of the request that the worker needs; the worker processes the batch apart from
    /// the event loop.
    struct Origin: Sendable {
        let user: User
        let quota: CallerQuota?
        let changes: CallerQuota?
        let actor: AuditRecord.Actor
        let request: RequestID
        let key: IdempotencyGuard.KeyedRequest?
        let isStrict: Bool
        let now: Date
        /// The batch's ids are derived from this time: ids from the same time are close to each
        /// other. The time is random and not the current one, so that it differs from the time of
        /// any other batch.
        let moment = Date(timeIntervalSince1970: .random(in: 0..<1e9))
    }

    /// An element that is ready to be stored.
    private struct Draft {
        /// The element's index in the batch.
        let number: Int
        let order: NotificationOrder
        var post: NewNotification
    }

    /// The elements of one transaction.
    private struct Portion {
        var drafts: [Draft] = []
        /// The elements that cannot be stored, each with its index in the batch.
        var refused: [(number: Int, problem: Problem)] = []
        /// The index of the first element after this portion.
        var end: Int
    }

    /// Stores the notifications of the body; returns the body of the answer. Throws a problem if
    /// the batch is refused as a whole; in that case nothing of the batch is stored.
    ///
    /// While the store commits one portion, the next portion is read and encrypted, and the
    /// outcomes of the previous portion are written. The timeout ends the batch only after it has
    /// stored an element: otherwise a slow server might spend each repetition of the batch on the
    /// elements that are stored already.
    func post(_ body: [UInt8], of origin: Origin) async throws -> [UInt8] {
        let batch = origin.key.map { self.idempotency.request($0, body: body) }
        if let batch { try self.idempotency.begin(batch) }
        defer { if let batch { self.idempotency.end(batch) } }
        let late = ContinuousClock.now + self.settings.batchTimeout
        let elements = try self.elements(of: body, origin)
        var outcomes = BatchOutcomes(elements.count, before: Self.tooLate)
        var answer = BatchAnswer()
        var (next, start): (Portion?, Int) = (self.read(elements, from: 0, of: origin, in: batch), 0)
        while let portion = next, !outcomes.hasNew || .now < late {
            for (number, problem) in portion.refused { outcomes[number] = .failure(problem) }
            async let following =
                portion.end < elements.count ? self.read(elements, from: portion.end, of: origin, in: batch) : nil
            let done = outcomes[answer.count..<start]
            async let text = BatchAnswer.text(of: done, in: origin.request)
            if let stop = try await self.store(portion.drafts, in: batch, of: origin, to: &outcomes) {
                for number in portion.end..<elements.count { outcomes[number] = .failure(stop) }
                next = nil
                break
            }
            answer.append(await text, of: done.count)
            (next, start) = (await following, portion.end)
        }
        if next != nil {
            self.failures.logger.warning(
                "batch timed out",
                metadata: origin.request.fields.merging(["unfinished": "\(elements.count - start)"]) { $1 }
            )
        }
        let rest = outcomes[answer.count..<elements.count]
        answer.append(BatchAnswer.text(of: rest, in: origin.request), of: rest.count)
        return answer.body
    }

    // MARK: - Private

    private static let tooLate = Problem(.busy, "the batch took too long; send this notification again")

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

    /// Reads the next elements, and encrypts their payloads.
    private func read(
        _ elements: [JSONValue],
        from start: Int,
        of origin: Origin,
        in batch: IdempotentRequest?
    ) -> Portion {
        var portion = Portion(end: start)
        var bytes = 0
        // The ids that this portion has used. All its ids are drawn from a small range, so two of
        // its hundreds of ids are often equal. An element with a used id would have to wait for
        // another commit.
        var ids: Set<NotificationID> = []
        let end = start == 0 ? Self.firstChunk : start + Self.chunk
        for number in start..<min(end, elements.count) where bytes < Self.chunkBytes {
            do {
                let draft = try self.draft(elements[number], number, of: origin, in: batch, besides: ids)
                ids.insert(draft.post.id)
                bytes += draft.post.sealedPayload.count
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
        if let most = [origin.quota, origin.changes].compactMap({ $0?.most }).min(), number >= most {
            // Even a full quota does not suffice for this element. If the client repeated the
            // batch, the quota would be charged for all elements again.
            throw Problem(
                .invalidMember,
                "Notifications has more elements than the \(most) that the quota admits at once; send this one in another request"
            )
        }
        // When the request was admitted, the caller's quota was charged for the first element, so
        // only the other elements are charged here.
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

    /// Makes the post of an element. The ids in one transaction are derived from the same time, so
    /// they are close to each other; each transaction has a time of its own. Batches store so many
    /// notifications that ids from a single time would often be equal.
    private func newPost(
        _ order: NotificationOrder,
        _ payload: [UInt8],
        _ number: Int,
        of origin: Origin,
        attempt: Int = 0,
        besides ids: Set<NotificationID> = [],
        once request: IdempotentRequest?
    ) throws -> NewNotification {
        let moment = origin.moment + TimeInterval((number + Self.chunk - Self.firstChunk) / Self.chunk)
        let id = self.poster.drawID(at: moment, attempt: attempt, besides: ids)
        return try self.poster.newPost(
            order,
            payload,
            as: id,
            from: origin.user,
            now: origin.now,
            once: request,
            by: AuditRecord(.send, of: "\(id)", detail: order.auditDetail, by: origin.actor, at: origin.now)
        )
    }

    /// The draft with another notification id, and with its payload encrypted again for that id.
    private func renewed(_ draft: Draft, _ attempt: Int, of origin: Origin) throws -> Draft {
        let taken = draft.post
        let place = SealedPlace.payload(taken.id, sender: taken.sender)
        let payload = Array(try self.poster.store.vault.open(taken.sealedPayload, in: place))
        var draft = draft
        draft.post = try self.newPost(
            draft.order,
            payload,
            draft.number,
            of: origin,
            attempt: attempt,
            once: draft.post.options.request
        )
        return draft
    }

    /// Stores the drafts of a portion. Drafts whose ids are in use get new ids, and are stored
    /// before the next portion. So elements with the same collapse key stay in their order.
    ///
    /// Returns the problem that would refuse all further drafts, or `nil`.
    private func store(
        _ drafts: [Draft],
        in batch: IdempotentRequest?,
        of origin: Origin,
        to outcomes: inout BatchOutcomes
    ) async throws -> Problem? {
        var rest = drafts
        for attempt in 1...NotificationPoster.maximumAttempts where !rest.isEmpty {
            let stored = await self.store(rest[...], in: batch, of: origin)
            if stored.isNew { outcomes.hasNew = true }
            var again: [Draft] = []
            for (draft, result) in zip(rest, stored.results) {
                switch result {
                case .success(let sent?): outcomes[draft.number] = .success(sent)
                case .success(nil): again.append(try self.renewed(draft, attempt, of: origin))
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

    private func result(
        of draft: Draft,
        _ outcome: PostOutcome,
        from origin: Origin
    ) async -> Result<SentNotification?, Problem> {
        do {
            if case .unknownUser = outcome, origin.user.role == .admin {
                try await self.reports.run { [poster] reader in
                    try await poster.explain(outcome, of: draft.order.audience.app, to: origin.user, reader)
                }
            }
            return .success(try self.poster.sent(draft.order, as: draft.post, outcome, from: origin.user))
        } catch {
            return .failure(self.failures.problem(of: error, in: origin.request))
        }
    }

    /// Stores drafts in one transaction. If the transaction fails, each draft gets a transaction
    /// of its own, so that only a faulty draft fails. `stop` is the problem that would refuse all
    /// further drafts; `isNew` says whether this call has stored at least one draft.
    private func store(
        _ drafts: ArraySlice<Draft>,
        in batch: IdempotentRequest?,
        of origin: Origin
    ) async -> (results: [Result<SentNotification?, Problem>], stop: Problem?, isNew: Bool) {
        do {
            let outcomes = try await self.poster.store(
                drafts.map(\.post),
                of: batch,
                from: origin.user,
                in: origin.request
            )
            var results: [Result<SentNotification?, Problem>] = []
            for (draft, outcome) in zip(drafts, outcomes) {
                results.append(await self.result(of: draft, outcome, from: origin))
            }
            return (results, nil, outcomes.contains(where: \.isStored))
        } catch let error as StoreError where error.concernsAll || drafts.count == 1 {
            let problem = self.failures.problem(of: error, in: origin.request)
            return (drafts.map { _ in .failure(problem) }, error.concernsAll ? problem : nil, false)
        } catch {
            if drafts.count == 1 {
                return ([.failure(self.failures.problem(of: error, in: origin.request))], nil, false)
            }
        }
        var (results, stop, isNew): ([Result<SentNotification?, Problem>], Problem?, Bool) = ([], nil, false)
        for index in drafts.indices {
            if let stop {
                results.append(.failure(stop))
                continue
            }
            let own = await self.store(drafts[index...index], in: batch, of: origin)
            results += own.results
            stop = own.stop
            if own.isNew { isNew = true }
        }
        return (results, stop, isNew)
    }
}

extension PostOutcome {
    fileprivate var isStored: Bool {
        if case .stored = self { true } else { false }
    }
}

extension StoreError {
    /// Whether this error would also make all other writes fail.
    fileprivate var concernsAll: Bool {
        switch self {
        case .busy, .full, .broken, .unavailable, .unknownOutcome: true
        default: false
        }
    }
}

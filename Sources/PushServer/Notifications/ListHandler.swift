internal import Foundation
internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Lists notifications, so that a device gets in one round trip all that it has missed.
struct ListHandler: Handler {
    let store: any NotificationStore & KeyStore
    let looks: LookBook
    /// Builds the lists that take too long for an event loop.
    let pool: ListPool
    let tags: EntityTagMaker
    let cursors: CursorMaker
    let signer: AnswerSigner
    let settings: ServerSettings
    let startedAt: Date

    var routes: [Route] {
        [
            Route(
                .get,
                Paths.notifications,
                .atLeast(.device, .fetch),
                query: ["app", "cursor", "since", "limit", "unread", "ids", "key"]
            ) { try await self.listNotifications($0) }
        ]
    }

    /// The size of the largest list that an event loop builds itself: small enough that other
    /// requests wait less than a millisecond. The pool builds longer lists. Compressing a list
    /// takes ten times as long as building it, so a compressed list has a smaller limit.
    private static let budget = PageBudget(rows: 100, bytes: 65_536)
    private static let compressedBudget = PageBudget(rows: 50, bytes: 8192)
    /// How many bytes of a list's body are charged to the quota as one request.
    static let bytesOfARequest = 16_384

    /// The parameters of a list, for the event loop and for the pool.
    private struct ListRequest: Sendable {
        let query: NotificationListQuery
        let app: AppName
        /// The id of the device key whose wrapped keys the list contains.
        let key: [UInt8]?
        let head: RequestHead
        let user: User
        let session: String?
        let quota: CallerQuota?
        let now: Date
        /// Whether the client prefers a compressed body.
        let prefersGzip: Bool
    }

    private func listNotifications(_ context: RequestContext) async throws -> Response {
        let request = try self.request(context)
        if let response = try await self.shortList(request, context.reader) { return response }
        return try await self.pool.run(for: request.user.id) { reader in
            guard var response = try await self.list(request, reader, within: .unlimited) else {
                preconditionFailure("nothing is beyond what is unlimited")
            }
            self.signer.addDigest(to: &response, for: request.head)
            return response
        }
    }

    private func request(_ context: RequestContext) throws -> ListRequest {
        let head = context.request.head
        let (query, user) = (try Query(head.query), try context.user)
        return ListRequest(
            query: try NotificationListQuery(query),
            app: try self.settings.app(named: try query["app"], for: user),
            key: EndToEndPayload.deviceKey(try query["key"]),
            head: head,
            user: user,
            session: context.caller?.token?.prefix.description,
            quota: context.caller?.quota,
            now: context.now,
            prefersGzip: self.prefersGzip(head)
        )
    }

    /// The list; `nil` if it is too long for an event loop.
    @inline(never)
    private func shortList(_ request: ListRequest, _ reader: any NotificationReader) async throws -> Response? {
        try await self.list(request, reader, within: request.prefersGzip ? Self.compressedBudget : Self.budget)
    }

    /// The list; `nil` if it is larger than the budget. In that case, nothing was charged to the
    /// quota, and no fetch was recorded.
    private func list(
        _ request: ListRequest,
        _ reader: any NotificationReader,
        within budget: PageBudget
    ) async throws -> Response? {
        var seen: (view: NotificationListView, outcome: Preconditions.Outcome)?
        let page = try await self.page(request, reader, within: budget) { page in
            let view = self.view(of: page, request)
            let outcome =
                request.head.isConditional
                ? Preconditions(request.head).outcome(for: view.validators, now: request.now) : .proceed
            seen = (view, outcome)
            return outcome == .proceed
        }
        if page.isBeyondBudget { return nil }
        guard let (view, outcome) = seen else { preconditionFailure("a page is shown before its payloads are read") }
        switch outcome {
        case .failed: throw Problem(.preconditionFailed)
        case .unchanged(let tag): return view.notModified(tag)
        case .proceed:
            let payloads = try self.payloads(of: page, request.key)
            // The quota is charged for the payloads as they are sent, that is, without the wrapped
            // keys for other devices.
            let shown = page.entries.reduce(0) { $0 + ($1.isGone || $1.isReadOnce ? 0 : $1.payloadLength) }
            let length = view.length - shown + payloads.reduce(0) { $0 + $1.count }
            request.quota?.charge(length / Self.bytesOfARequest, now: request.now)
            let response = view.full(payloads: payloads, padding: self.tags.padding)
            if request.head.method == .get {
                let fetched = page.entries.filter { !$0.isGone && !$0.isReadOnce && !$0.isFetched }
                self.store.recordFetches(of: fetched.map(\.id), by: request.user.id, now: request.now)
                self.recordSync(page, request)
            }
            return response
        }
    }

    /// Records that the caller's devices know all changes of this app. Therefore they need no
    /// look, which is a silent push that makes a device fetch changes.
    private func recordSync(_ page: NotificationPage, _ request: ListRequest) {
        guard let session = request.session, !page.hasMore, !page.entries.isEmpty else { return }
        guard case .changes(_, _, isUnreadOnly: false) = request.query else { return }
        self.looks.record(LookSync(user: request.user.id, app: request.app, session: session, change: page.end))
    }

    private func payloads(of page: NotificationPage, _ key: [UInt8]?) throws -> [Data] {
        try page.entries.compactMap { entry in
            guard !entry.isGone, !entry.isReadOnce else { return nil }
            let payload = try self.store.vault.open(entry.sealedPayload, in: .payload(entry.id, sender: entry.sender))
            guard payload.starts(with: EndToEndPayload.start) else { return payload }
            var text = Array(payload)
            EndToEndPayload.cut(&text, for: key)
            return Data(text)
        }
    }

    private func page(
        _ request: ListRequest,
        _ reader: any NotificationReader,
        within budget: PageBudget,
        needsPayloads: (NotificationPage) -> Bool
    ) async throws -> NotificationPage {
        let (user, now) = (request.user.id, request.now)
        switch request.query {
        case .ids(let ids):
            return try await reader.notifications(
                ids,
                of: request.app,
                for: user,
                now: now,
                within: budget,
                needsPayloads: needsPayloads
            )
        case .changes(let cursor, let limit, let isUnreadOnly):
            let list = CursorMaker.List(user: user, app: request.app, isUnreadOnly: isUnreadOnly)
            let start: Int64? =
                if let cursor { try await self.change(at: cursor, of: list, reader) } else { nil }
            let range = ChangeRange(after: start, limit: limit, isUnreadOnly: isUnreadOnly, app: request.app)
            return try await reader.notifications(
                range,
                for: user,
                now: now,
                within: budget,
                needsPayloads: needsPayloads
            )
        }
    }

    /// Throws an `invalid-cursor` problem if the cursor was not issued for `list`.
    private func change(
        at cursor: String,
        of list: CursorMaker.List,
        _ reader: any NotificationReader
    ) async throws -> Int64 {
        guard
            let change = self.cursors.change(at: cursor, of: list),
            change <= (try await reader.newestChange(ofUser: list.user))
        else { throw Problem(.invalidCursor, "restart the list without cursor") }
        return change
    }

    /// Whether to compress the body. If the client requests a signature, the body is not
    /// compressed: the signature covers the bytes as sent, and many HTTP libraries show only
    /// decompressed ones.
    private func prefersGzip(_ head: RequestHead) -> Bool {
        guard head.count(of: .acceptEncoding) > 0, head.count(of: .acceptSignature) == 0 else { return false }
        return AcceptedCodings(head[.acceptEncoding]).prefersGzip
    }

    private func view(of page: NotificationPage, _ request: ListRequest) -> NotificationListView {
        let user = request.user.id
        var (cursor, start): (String?, String?)
        if case .changes(let since, _, let isUnreadOnly) = request.query {
            let list = CursorMaker.List(user: user, app: request.app, isUnreadOnly: isUnreadOnly)
            (cursor, start) = (self.cursors.cursor(at: page.end, of: list), since)
        }
        // If nothing has changed since the cursor, the cursor itself is the entity tag: every
        // client that has fetched everything up to the cursor knows the cursor.
        let isEmpty = page.entries.isEmpty && !page.hasMore && cursor != nil && cursor == start
        return NotificationListView(
            page: page,
            cursor: cursor,
            tag: isEmpty
                ? EntityTag(description: "\"\(cursor ?? "")\"")
                : self.tags.tag(of: page, cursor: cursor, for: user, deviceKey: request.key),
            // If further pages follow, the time of the last change is unknown: an entry of a later
            // page may have been on this page before, and the server does not know when the entry
            // left this page.
            changedAt: page.hasMore ? nil : max(page.changedAt, page.removedAt ?? self.startedAt, self.startedAt),
            prefersGzip: request.prefersGzip,
            now: request.now
        )
    }
}

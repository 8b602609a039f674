internal import Foundation
internal import PushAPI

/// Fetches all changes since the cursor, page after page. Each page is stored together with its
/// cursor, in one commit.
struct Sync {
    /// The maximum number of pages of one sync, far more than any inbox has. This limit ends the
    /// loop if a server or a proxy claims in every answer that there are more pages.
    private static let maximumPages = 1000

    let inbox: InboxKeeper
    let app: String?
    let keyQuery: [URLQueryItem]
    let now: Date
    /// Notifications whose payloads must not be stored: only this sync returns these payloads.
    private(set) var unstored: [Int64: NotificationItem] = [:]
    private var isBeginning = false
    private var hasRestarted = false

    init(_ inbox: InboxKeeper, app: String?, keyQuery: [URLQueryItem], now: Date) {
        (self.inbox, self.app, self.keyQuery, self.now) = (inbox, app, keyQuery, now)
    }

    mutating func run(_ api: APITransport) async throws {
        for _ in 0..<Self.maximumPages {
            let before = try await self.inbox.read()
            let isRestart = self.isRestart(before)
            let answer: Answer
            do {
                answer = try await api.call(self.request(since: isRestart ? nil : before.index.cursor))
            } catch PushClientError.problem(let problem) where problem.code == .invalidCursor {
                guard self.restart() else { throw PushClientError.problem(problem) }
                continue
            }
            guard try await self.merge(answer, requestedAt: before, isRestart: isRestart) else { return }
        }
        throw Self.endless
    }

    /// Whether the next request omits the cursor.
    func isRestart(_ before: Account.Snapshot) -> Bool { self.isBeginning || before.index.cursor == nil }

    /// Makes the next request omit the cursor, because the server does not know it. Returns
    /// `false` after an earlier restart or page of this sync: otherwise the sync could restart for
    /// ever.
    mutating func restart() -> Bool {
        if self.hasRestarted { return false }
        (self.isBeginning, self.hasRestarted) = (true, true)
        return true
    }

    /// Merges the answer to a request that was made in the state `before`; returns whether another
    /// request must follow.
    mutating func merge(
        _ answer: Answer,
        requestedAt before: Account.Snapshot,
        isRestart: Bool
    ) async throws -> Bool {
        let serverTime = answer.fields.serverTime
        if answer.status == 304 {
            guard let cursor = before.index.cursor else { throw answer.unexpected("a list") }
            try await self.inbox.confirm(cursor, serverTime: serverTime, now: self.now)
            return false
        }
        let page = try InboxPage(answer)
        let isMerged = try await self.inbox.merge(
            page,
            requestedAt: before,
            isRestart: isRestart,
            serverTime: serverTime,
            now: self.now
        )
        // If another call has merged a page during the request, this call continues from the
        // cursor of that page.
        guard isMerged else { return true }
        (self.isBeginning, self.hasRestarted) = (false, true)
        for item in page.items {
            self.unstored[item.item.id] = item.isStorable || item.item.payload == nil ? nil : item.item
        }
        for id in page.deleted { self.unstored[id] = nil }
        return page.hasMore
    }

    // MARK: - Private

    private func request(since cursor: String?) -> APIRequest {
        var request = APIRequest("GET", Paths.notifications)
        request.query = [URLQueryItem(name: "limit", value: "500")] + self.keyQuery
        // A page has up to 500 notifications, so it may be as long as the options allow.
        request.answerLimit = .max
        if let app { request.query.append(URLQueryItem(name: "app", value: app)) }
        if let cursor {
            request.query.append(URLQueryItem(name: "since", value: cursor))
            // If there are no changes after a cursor, the server's answer has that cursor as its
            // tag.
            request.tag = "\"\(cursor)\""
        }
        return request
    }

    private static var endless: PushClientError {
        .interference(
            Interference(
                kind: .unexpectedBody,
                expected: "a last page",
                seen: "more pages than an inbox has",
                status: 200,
                path: Paths.notifications
            )
        )
    }
}

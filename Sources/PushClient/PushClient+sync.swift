internal import Foundation
internal import PushAPI

extension PushClient {
    /// Fetches everything that was missed: one request, and a further one only when there is more than one holds.
    ///
    /// When nothing is new, that is one answer of 304. When the server cannot be asked, the inbox is as it was kept. Two
    /// at once do not harm each other.
    public func sync() async throws -> Fetched<Inbox> {
        let now = self.now()
        var (state, before) = await self.inbox.begin(now: now)
        var changes = SyncChanges(before: before, now: now)
        var start = SyncStart.cursor
        do {
            // Far more pages than an inbox has: an end, should somebody answer `More` for ever.
            for _ in 0..<1000 {
                switch try await self.page(after: start == .beginning ? nil : state.cursor) {
                case .nothingNew(let cursor):
                    await self.inbox.confirm(cursor, now: now)
                    return .fresh(changes.inbox(state))
                case .page(let page):
                    guard
                        let merged = await self.inbox.take(
                            page,
                            inPlaceOf: start == .beginning ? .everything : .older,
                            after: state.cursor,
                            now: now
                        )
                    else {
                        // Another call was faster: on from where it has come to.
                        state = await self.inbox.state
                        start = .cursor
                        continue
                    }
                    for id in page.deleted { self.records.forget(id) }
                    changes.add(page)
                    (state, start) = (merged, .afterBeginning)
                    if !page.hasMore { return .fresh(changes.inbox(state)) }
                case .unknownCursor(let problem):
                    guard start == .cursor else { throw PushClientError.problem(problem) }
                    start = .beginning
                }
            }
            throw Self.endless
        } catch let error where error.leavesWhatIsKept {
            let state = await self.inbox.state
            guard state.cursor != nil else { throw error }
            return .cached(changes.inbox(state), await self.inbox.date(of: state))
        }
    }

    private enum Page {
        case nothingNew(cursor: String)
        case page(InboxPage)
        case unknownCursor(Problem)
    }

    private func page(after cursor: String?) async throws -> Page {
        var request = APIRequest("GET", Paths.notifications)
        request.query = [URLQueryItem(name: "limit", value: "500")]
        if let cursor {
            request.query.append(URLQueryItem(name: "since", value: cursor))
            // What is answered to a cursor behind which there is nothing has that cursor as its tag.
            request.tag = "\"\(cursor)\""
        }
        do {
            let answer = try await self.api.call(request)
            if answer.status == 304, let cursor { return .nothingNew(cursor: cursor) }
            return .page(try InboxPage(answer))
        } catch PushClientError.problem(let problem) where problem.code == .invalidCursor && cursor != nil {
            return .unknownCursor(problem)
        }
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

/// Where the next page begins.
private enum SyncStart {
    case cursor
    /// The server did not know the cursor.
    case beginning
    /// Behind a page of this very sync: a cursor that is not known now would be so for ever.
    case afterBeginning
}

/// What one sync has changed, for the app.
private struct SyncChanges {
    let before: Set<Int64>
    let now: Date
    private var arrived: Set<Int64> = []
    private var named: Set<Int64> = []
    /// What must not be kept, and is shown this once.
    private var unkept: [Int64: NotificationItem] = [:]

    init(before: Set<Int64>, now: Date) {
        self.before = before
        self.now = now
    }

    mutating func add(_ page: InboxPage) {
        for item in page.items {
            self.arrived.insert(item.item.id)
            self.unkept[item.item.id] = item.isKept ? nil : item.item
        }
        self.named.formUnion(page.deleted)
    }

    func inbox(_ state: InboxState) -> Inbox {
        var state = state
        state.expire(self.now)
        let present = Set(state.entries.keys)
        return Inbox(
            notifications: state.items(instead: self.unkept),
            arrived: self.arrived.intersection(present).sorted(),
            deleted: self.before.union(self.named).subtracting(present).sorted()
        )
    }
}

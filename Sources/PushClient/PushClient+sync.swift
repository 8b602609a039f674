internal import Foundation
internal import PushAPI

extension PushClient {
    /// Fetches all changes since the last time: one request for up to 500 notifications, and further ones for more.
    ///
    /// When nothing is new, the answer is one 304. When the network fails or interferes, the inbox is the kept one. Two
    /// concurrent calls do not harm each other.
    public func sync() async throws -> Fetched<Inbox> {
        let now = self.now()
        let (state, before) = await self.inbox.begin(now: now)
        var progress = SyncProgress(state, before: before, now: now)
        do {
            for _ in 0..<Self.maximumPages {
                switch try await self.advance(&progress) {
                case .more: continue
                case .complete: return .fresh(progress.inbox(progress.state))
                }
            }
            throw Self.endless
        } catch let error where error.leavesWhatIsKept {
            let state = await self.inbox.state
            guard state.cursor != nil else { throw error }
            return .cached(progress.inbox(state), await self.inbox.date(of: state))
        }
    }

    // MARK: - Private

    /// Far more pages than an inbox has: ends the loop if a server or a proxy answers `More` for ever.
    private static let maximumPages = 1000

    private enum Step {
        case more, complete
    }

    /// Fetches one page and merges it.
    private func advance(_ progress: inout SyncProgress) async throws -> Step {
        switch try await self.page(after: progress.cursor) {
        case .nothingNew(let cursor):
            await self.inbox.confirm(cursor, now: progress.now)
            return .complete
        case .unknownCursor(let problem):
            guard progress.start == .cursor else { throw PushClientError.problem(problem) }
            progress.start = .beginning
            return .more
        case .page(let page):
            let merged = await self.inbox.take(
                page,
                inPlaceOf: progress.start == .beginning ? .everything : .older,
                after: progress.state.cursor,
                now: progress.now
            )
            guard let merged else {
                // Another call was faster: continue from its cursor.
                progress.goOn(from: await self.inbox.state)
                return .more
            }
            for id in page.deleted { self.records.forget(id) }
            progress.add(page, merged: merged)
            return page.hasMore ? .more : .complete
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
        if let app { request.query.append(URLQueryItem(name: "app", value: app)) }
        if let cursor {
            request.query.append(URLQueryItem(name: "since", value: cursor))
            // If nothing follows a cursor, the server's answer has that cursor as its tag.
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

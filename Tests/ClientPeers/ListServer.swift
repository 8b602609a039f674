internal import Foundation
internal import PushAPI
internal import PushClient

/// A simulated server with a user's list of notifications. It numbers the changes, and a cursor
/// contains the number of the last change that the client has got.
package final class ListServer: Sendable {
    package struct State {
        /// The JSON of each notification (`nil` if it is deleted), with the number of its last
        /// change.
        package var items: [Int64: (json: String?, change: Int)] = [:]
        var last = 0
        /// The prefix of cursors, before their number.
        package var generation = "c"
        package var pageSize = 500
        package var directive = "private, no-cache"
        /// The value of the answers' field `Date`; `nil` for answers without it.
        package var date: String?
    }

    private let state = Locked(State())

    package init() {}

    package func put(_ id: Int64, _ json: String?) {
        self.state.withLock { state in
            state.last += 1
            state.items[id] = (json, state.last)
        }
    }

    package func change(_ change: (inout State) -> Void) {
        self.state.withLock { change(&$0) }
    }

    package var script: PeerScript {
        { request, _ in .answer(self.answer(request)) }
    }

    package func answer(_ request: PeerRequest) -> PeerAnswer {
        self.state.withLock { state in
            let since = request.query.split(separator: "&").first { $0.hasPrefix("since=") }?.dropFirst(6)
            var start = 0
            if let since {
                guard since.hasPrefix(state.generation), let number = Int(since.dropFirst(state.generation.count))
                else {
                    return PeerAnswer(to: request, .invalidCursor)
                }
                start = number
            }
            let changes = state.items.filter { $0.value.change > start && (since != nil || $0.value.json != nil) }
                .sorted { $0.value.change < $1.value.change }
            let page = changes.prefix(state.pageSize)
            let cursor =
                "\(state.generation)\(page.last?.value.change ?? max(start, since == nil ? state.last : start))"
            var fields = [
                (name: "ETag", value: "\"\(page.isEmpty ? cursor : "page-\(cursor)-\(start)")\""),
                (name: "Cache-Control", value: state.directive),
            ]
            if let date = state.date { fields.append((name: "Date", value: date)) }
            if page.isEmpty, request.fields["if-none-match"] == "\"\(cursor)\"" {
                return PeerAnswer(to: request, status: 304, fields: fields)
            }
            let body = Samples.list(
                page.compactMap(\.value.json),
                deleted: page.filter { $0.value.json == nil }.map(\.key),
                cursor: cursor,
                more: changes.count > page.count
            )
            return PeerAnswer(to: request, fields: fields, body: body)
        }
    }
}

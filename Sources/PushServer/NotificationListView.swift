internal import Foundation
internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// A page of notifications as its reader sees it, with its validators and its freshness.
struct NotificationListView {
    let page: NotificationPage
    /// Where the next page begins; `nil` in a list of what was asked for one by one.
    let cursor: String?
    let tag: EntityTag
    let maxAge: Duration
    let now: Date

    /// The whole answer. `payloads` are JSON text, one for each entry that shows one, and go out as they were stored.
    func full(payloads: [Data]) -> Response {
        Response(status: .ok, fields: self.fields(isFull: true), body: self.body(payloads))
    }

    /// RFC 9110 section 15.4.5.
    var notModified: Response {
        Response(status: .notModified, fields: self.fields(isFull: false))
    }

    /// Whether the client has this already.
    func isUnchanged(for head: RequestHead) -> Bool {
        head[.ifNoneMatch].map(self.tag.isNamed) ?? false
    }

    /// Bytes of the body, known before the payloads are read.
    var length: Int {
        var (items, gone) = (0, 0)
        for entry in self.page.entries {
            if entry.isGone {
                gone += [UInt8].digits(of: entry.id) + 1
            } else {
                let payloadLength = entry.isReadOnce ? nil : entry.payloadLength
                items += [UInt8].length(ofItem: entry.id, payloadLength: payloadLength, isRead: entry.isRead) + 1
            }
        }
        // No comma behind the last.
        let lists = max(0, items - 1) + max(0, gone - 1)
        let cursor = self.cursor.map { $0.utf8.count + #""Cursor":"","#.utf8.count } ?? 0
        let frame = #"{"Notifications":[],"Deleted":[],"More":}"#.utf8.count
        return lists + cursor + frame + (self.page.hasMore ? 4 : 5)
    }

    // MARK: - Private

    private func body(_ payloads: [Data]) -> [UInt8] {
        var body: [UInt8] = []
        body.reserveCapacity(self.length)
        body.append(#"{"Notifications":["#)
        var (isFirst, payload) = (true, payloads.makeIterator())
        for entry in self.page.entries where !entry.isGone {
            if !isFirst { body.append(",") }
            isFirst = false
            body.append(
                item: entry.id,
                payload: entry.isReadOnce ? nil : payload.next(),
                isRead: entry.isRead,
                createdAt: entry.createdAt,
                expiresAt: entry.expiresAt
            )
        }
        body.append(#"],"Deleted":["#)
        isFirst = true
        for entry in self.page.entries where entry.isGone {
            if !isFirst { body.append(",") }
            isFirst = false
            body.append(decimal: entry.id.rawValue)
        }
        body.append("],")
        if let cursor {
            body.append(#""Cursor":""#)
            body.append(contentsOf: cursor.utf8)
            body.append(#"","#)
        }
        body.append(self.page.hasMore ? #""More":true}"# : #""More":false}"#)
        return body
    }

    private static let json: ResponseFields = [.contentType: "application/json; charset=utf-8"]
    private static let vary: ResponseFields = [.vary: "Accept-Encoding"]

    private func fields(isFull: Bool) -> ResponseFields {
        var fields = ResponseFields()
        if isFull { fields.append(contentsOf: Self.json) }
        fields.append(.eTag, self.tag.description)
        fields.append(contentsOf: Self.vary)
        let shown = self.page.entries.lazy.filter { !$0.isGone }
        guard shown.allSatisfy({ $0.isStoredByClients && !$0.isReadOnce }) else {
            fields.append(.cacheControl, "no-store")
            return fields
        }
        // A cache must not outlive what it shows.
        let end = shown.map(\.expiresAt).min() ?? .distantFuture
        let left = max(0, Int64(min(end.timeIntervalSince(self.now), Double(Int32.max))))
        let seconds = min(self.maxAge.components.seconds, left)
        guard self.maxAge > .zero else {
            fields.append(.cacheControl, "private, no-cache")
            return fields
        }
        fields.append(.cacheControl) {
            $0.append("private, max-age=")
            $0.append(decimal: seconds)
        }
        fields.append(.expires) { HTTPDate(self.now + TimeInterval(seconds)).append(to: &$0) }
        return fields
    }
}

internal import CivilTime
internal import Foundation
internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// A page of notifications as one user sees it. Makes the answers about the page, with their
/// validators and `Cache-Control`.
struct NotificationListView {
    let page: NotificationPage
    /// The cursor at which the next page begins; `nil` in a list that was requested by ids.
    let cursor: String?
    let tag: EntityTag
    /// The time at which the page last changed; `nil` if it is not certain.
    let changedAt: Date?
    /// Whether the client prefers a compressed body.
    let prefersGzip: Bool
    let now: Date

    /// The length of the longest body that is not compressed, in bytes.
    static let longBody = 1024

    /// The whole answer. `payloads` has the JSON text of the payload of each entry that shows its
    /// payload. The texts are sent unchanged.
    ///
    /// `padding` returns the number of meaningless bytes for a compressed body. Because of these
    /// bytes, the length of the body does not reveal how much of one text occurs in another text
    /// (the BREACH attack).
    func full(payloads: [Data], padding: (EntityTag) -> Int) -> Response {
        let body = self.body(payloads)
        if self.isCompressed, let compressed = Gzip.compress(body, nameLength: padding(self.gzipTag)) {
            var fields = self.fields(isFull: true, tag: self.gzipTag)
            fields.append(.contentEncoding, "gzip")
            return Response(status: .ok, fields: fields, body: compressed)
        }
        return Response(status: .ok, fields: self.fields(isFull: true, tag: self.tag), body: body)
    }

    /// The answer 304 to a client that has the list already (RFC 9110 section 15.4.5).
    func notModified(_ tag: EntityTag) -> Response {
        Response(status: .notModified, fields: self.fields(isFull: false, tag: tag))
    }

    /// The validators for conditional requests: the entity tags of the uncompressed and the
    /// compressed list, and the time of the last change.
    var validators: Validators {
        Validators(
            tags: self.isCompressed ? [self.gzipTag, self.tag] : [self.tag, self.gzipTag],
            lastModified: self.lastModified
        )
    }

    /// The length of the uncompressed body in bytes; it can be computed before the payloads are
    /// read.
    var length: Int {
        var (items, gone) = (0, 0)
        for entry in self.page.entries {
            if entry.isGone {
                gone += [UInt8].digits(of: entry.id) + 1
            } else {
                let payloadLength = entry.isReadOnce ? nil : entry.payloadLength
                items +=
                    [UInt8].length(
                        ofItem: entry.id,
                        payloadLength: payloadLength,
                        isRead: entry.isRead,
                        storage: entry.storage
                    ) + 1
            }
        }
        // No comma follows the last entry of each of the two arrays.
        let lists = max(0, items - 1) + max(0, gone - 1)
        let cursor = self.cursor.map { $0.utf8.count + #""Cursor":"","#.utf8.count } ?? 0
        let frame = #"{"Notifications":[],"Deleted":[],"More":}"#.utf8.count
        return lists + cursor + frame + (self.page.hasMore ? 4 : 5)
    }

    // MARK: - Private

    private var isCompressed: Bool { self.prefersGzip && self.length > Self.longBody }
    private var lastModified: HTTPDate? { self.changedAt.map(HTTPDate.init(lastModified:)) }
    private var gzipTag: EntityTag { self.tag.suffixed("-gzip") }

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
                payload: entry.isReadOnce ? nil : payload.next().map { PayloadSource($0) },
                isRead: entry.isRead,
                createdAt: entry.createdAt,
                expiresAt: entry.expiresAt,
                storage: entry.storage
            )
        }
        body.append(#"],"Deleted":["#)
        isFirst = true
        for entry in self.page.entries where entry.isGone {
            if !isFirst { body.append(",") }
            isFirst = false
            body.append(decimal: Int(entry.id.rawValue))
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

    private func fields(isFull: Bool, tag: EntityTag) -> ResponseFields {
        var fields = ResponseFields()
        if isFull {
            fields.append(lines: "Content-Type: application/json; charset=utf-8\r\n")
            if let lastModified, lastModified <= HTTPDate(self.now) {
                fields.append(.lastModified, lastModified.description)
            }
        }
        fields.append(.eTag, tag.description)
        fields.append(lines: "Vary: Authorization, Accept-Encoding\r\n")
        let shown = self.page.entries.lazy.filter { !$0.isGone }
        let isStored = shown.allSatisfy { $0.isStoredByClients && !$0.isReadOnce }
        fields.append(.cacheControl, isStored ? "private, no-cache" : "no-store")
        return fields
    }
}

extension NotificationPage.Entry {
    fileprivate var storage: StoragePolicy {
        StoragePolicy(isStoredByClients: self.isStoredByClients, isReadOnce: self.isReadOnce)
    }
}

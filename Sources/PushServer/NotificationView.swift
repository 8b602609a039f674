internal import Foundation
internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// A notification as one caller sees it, with its validators and its freshness.
struct NotificationView {
    let id: NotificationID
    let notification: StoredNotification
    let tag: EntityTag
    let maxAge: Duration
    let now: Date

    /// The whole answer. `payload` is JSON text and goes out as it was stored.
    func full(payload: Data) -> Response {
        Response(status: .ok, fields: self.fields(isFull: true), body: self.body(payload: payload))
    }

    /// RFC 9110 section 15.4.5: the validator and the freshness, no other field of the representation, no body.
    var notModified: Response {
        Response(status: .notModified, fields: self.fields(isFull: false))
    }

    /// Whether the client has this already: `If-None-Match`, or only without it `If-Modified-Since`.
    func isUnchanged(for head: RequestHead) -> Bool {
        if let list = head[.ifNoneMatch] { return self.tag.isNamed(by: list) }
        guard head.count(of: .ifModifiedSince) == 1, let since = head[.ifModifiedSince].flatMap(HTTPDate.init) else {
            return false
        }
        return self.lastModified <= since
    }

    // MARK: - Private

    private var lastModified: HTTPDate {
        HTTPDate(max(self.notification.createdAt, self.notification.readAt ?? .distantPast))
    }

    private func body(payload: Data) -> [UInt8] {
        var body: [UInt8] = []
        body.reserveCapacity(payload.count + 128)
        body.append(contentsOf: #"{"Id":"#.utf8)
        body.append(contentsOf: self.id.description.utf8)
        body.append(contentsOf: #","Payload":"#.utf8)
        body.append(contentsOf: payload)
        body.append(contentsOf: (self.notification.readAt == nil ? #","Read":false"# : #","Read":true"#).utf8)
        body.append(contentsOf: #","CreatedAt":""#.utf8)
        body.append(contentsOf: self.notification.createdAt.rfc3339.utf8)
        body.append(contentsOf: #"","ExpiresAt":""#.utf8)
        body.append(contentsOf: self.notification.expiresAt.rfc3339.utf8)
        body.append(contentsOf: #""}"#.utf8)
        return body
    }

    private func fields(isFull: Bool) -> HTTPFields {
        var fields = HTTPFields()
        if isFull {
            fields.append(HTTPField(name: .contentType, value: "application/json; charset=utf-8"))
            fields.append(HTTPField(name: .lastModified, value: self.lastModified.description))
        }
        fields.append(HTTPField(name: .eTag, value: self.tag.description))
        guard self.notification.isStoredByClients, !self.notification.isReadOnce else {
            fields.append(HTTPField(name: .cacheControl, value: "no-store"))
            return fields
        }
        // A cache must not outlive the payload.
        let left = max(0, Int64(self.notification.expiresAt.timeIntervalSince(self.now)))
        let seconds = min(self.maxAge.components.seconds, left)
        fields.append(HTTPField(name: .cacheControl, value: "private, max-age=\(seconds)"))
        fields.append(
            HTTPField(name: .expires, value: HTTPDate(self.now + TimeInterval(seconds)).description)
        )
        return fields
    }
}

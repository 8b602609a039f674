internal import CivilTime
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

    /// The answer for a read-once notification whose payload is not collected now.
    var withoutPayload: Response {
        Response(status: .ok, fields: Self.uncached, body: self.body(payload: nil))
    }

    /// RFC 9110 section 15.4.5: the validator and the freshness, no other field of the representation, no body.
    var notModified: Response {
        Response(status: .notModified, fields: self.fields(isFull: false))
    }

    /// The validators for conditional requests.
    var validators: Validators {
        Validators(tags: [self.tag], lastModified: self.lastModified)
    }

    // MARK: - Private

    private var lastModified: HTTPDate {
        HTTPDate(lastModified: self.notification.changedAt)
    }

    private func body(payload: Data?) -> [UInt8] {
        var body: [UInt8] = []
        body.reserveCapacity((payload?.count ?? 0) + 128)
        body.append(
            item: self.id,
            payload: payload,
            isRead: self.notification.readAt != nil,
            createdAt: self.notification.createdAt,
            expiresAt: self.notification.expiresAt,
            storage: StoragePolicy(
                isStoredByClients: self.notification.isStoredByClients,
                isReadOnce: self.notification.isReadOnce
            )
        )
        return body
    }

    private static let uncached: ResponseFields = [
        .contentType: "application/json; charset=utf-8", .cacheControl: "no-store",
    ]

    private func fields(isFull: Bool) -> ResponseFields {
        var fields = ResponseFields()
        if isFull {
            fields.append(lines: "Content-Type: application/json; charset=utf-8\r\n")
            let lastModified = self.lastModified
            if lastModified <= HTTPDate(self.now) {
                fields.append(line: "Last-Modified: ") { lastModified.append(to: &$0) }
            }
        }
        fields.append(line: "ETag: ") { $0.append(contentsOf: self.tag.description.utf8) }
        guard self.notification.isStoredByClients, !self.notification.isReadOnce else {
            fields.append(lines: "Cache-Control: no-store\r\n")
            return fields
        }
        // Several users may follow each other on one phone, with one cache: RFC 9111 section 3.5 is about shared caches
        // only.
        fields.append(lines: "Vary: Authorization\r\n")
        // A cache must not outlive the payload.
        let left = max(0, Int64(self.notification.expiresAt.timeIntervalSince(self.now)))
        let seconds = min(self.maxAge.components.seconds, left)
        fields.append(line: "Cache-Control: private, max-age=") { $0.append(decimal: Int(seconds)) }
        fields.append(line: "Expires: ") { HTTPDate(self.now + TimeInterval(seconds)).append(to: &$0) }
        return fields
    }
}

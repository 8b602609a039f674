internal import Bytes
internal import CivilTime
internal import Foundation
internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// A notification as one caller sees it. Makes the answers about the notification, with their
/// validators and `Cache-Control`. The type is not copyable, because copies would retain all
/// members at each fetch.
struct NotificationView: ~Copyable {
    let id: NotificationID
    let notification: StoredNotification
    /// The account of the caller, who gets the answer.
    let account: AccountID?
    /// How long the client may use its cached answer, in seconds.
    let maxAge: Int64
    let now: Date
    /// The id of the device key that the request names.
    let deviceKey: [UInt8]?

    /// The whole answer. Of an end-to-end payload's wrapped keys, the answer contains only the one
    /// for the device whose key the request names.
    func full(_ body: [UInt8]) -> Response {
        let start = [UInt8].payloadStart(ofItem: self.id)
        guard EndToEndPayload.isClaimed(by: body, from: start) else {
            return Response(status: .ok, fields: self.fields(isFull: true), body: body)
        }
        var own = body
        EndToEndPayload.cut(&own, from: start, for: self.deviceKey)
        return Response(status: .ok, fields: self.fields(isFull: true), body: own)
    }

    /// Whether the device that has sent the request can decrypt the payload in `body`, which is
    /// the body of a whole answer.
    func isReadable(_ body: [UInt8]) -> Bool {
        EndToEndPayload.isReadable(body, from: [UInt8].payloadStart(ofItem: self.id), by: self.deviceKey)
    }

    /// The body of the whole answer. The decrypted payload is JSON text, and is written unchanged.
    func body(openedBy vault: Vault) throws(VaultError) -> [UInt8] {
        let sealed = self.notification.sealedPayload
        let place = SealedPlace.payload(self.id, sender: self.notification.sender)
        let payload = PayloadSource(count: Vault.plaintextCount(of: sealed)) { (memory) throws(VaultError) in
            try sealed.span.withUnsafeBytes { (sealed) throws(VaultError) in
                try vault.open(sealed, in: place, into: memory)
            }
        }
        return try self.body(payload)
    }

    /// The answer without the payload: for a read-once notification, if the request does not fetch
    /// the payload now.
    var withoutPayload: Response {
        Response(status: .ok, fields: Self.uncached, body: self.body(PayloadSource<Never>?.none))
    }

    /// The answer 304 (RFC 9110 section 15.4.5). It has the validators and `Cache-Control`, but no
    /// other fields of the representation, and no body.
    var notModified: Response {
        Response(status: .notModified, fields: self.fields(isFull: false))
    }

    /// The validators for conditional requests.
    var validators: Validators {
        Validators(tags: [self.tag.entityTag], lastModified: self.lastModified)
    }

    // MARK: - Private

    private var tag: NotificationTag {
        NotificationTag(
            id: self.id,
            account: self.account,
            isRead: self.notification.readAt != nil,
            createdAt: self.notification.createdAt,
            deviceKey: self.deviceKey
        )
    }

    private var lastModified: HTTPDate {
        HTTPDate(lastModified: self.notification.changedAt)
    }

    private func body<Failure>(_ payload: PayloadSource<Failure>?) throws(Failure) -> [UInt8] {
        var body: [UInt8] = []
        try body.append(
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
        // All lines together have less than 384 bytes.
        fields.append(upTo: 408) { writer in
            if isFull {
                writer.write("Content-Type: application/json; charset=utf-8\r\n")
                let lastModified = self.lastModified
                if lastModified <= HTTPDate(self.now) {
                    writer.write("Last-Modified: ")
                    lastModified.write(to: &writer)
                    writer.write("\r\n")
                }
            }
            writer.write("ETag: ")
            self.tag.write(to: &writer)
            guard self.notification.isStoredByClients, !self.notification.isReadOnce else {
                return writer.write("\r\nCache-Control: no-store\r\n")
            }
            // A cache must not outlive the payload.
            let left = max(0, Int64(self.notification.expiresAt.timeIntervalSince(self.now)))
            let seconds = min(self.maxAge, left)
            // `Vary` is needed, because several users may use one phone and its cache in turn.
            // Without `Vary`, only shared caches would keep the users' answers apart (RFC 9111
            // section 3.5).
            writer.write("\r\nVary: Authorization\r\nCache-Control: private, max-age=")
            writer.write(decimal: Int(seconds))
            writer.write("\r\nExpires: ")
            HTTPDate(self.now + TimeInterval(seconds)).write(to: &writer)
            writer.write("\r\n")
        }
        return fields
    }
}

internal import Foundation
internal import PushAPI

/// An answer that was checked: the server's own, to this very request.
struct Answer: Sendable {
    let request: APIRequest
    let status: Int
    let body: Data
    let fields: Fields
    /// The body; `nil` if it is empty.
    let json: JSONValue?

    struct Fields: Sendable {
        let tag: String?
        /// Whether the sender, or the server's configuration, forbids keeping it. Unknown where answers are signed:
        /// there every answer has `Cache-Control: no-store`, for the caches of proxies.
        let isNoStore: Bool
        let retryAfter: Duration?
        /// The server's clock: when the answer was signed, or its `Date` where answers are not.
        let serverTime: Date?
    }

    /// The requested notification; `id` is `nil` where the server chose it.
    func item(_ id: Int64? = nil) throws(PushClientError) -> NotificationItem {
        guard let json, let item = NotificationItem(json) else { throw self.unexpected("a notification") }
        if let id, item.id != id { throw self.interference(.wrongID, "\(id)", "\(item.id)") }
        return item
    }

    /// An interference: the JSON of the body is not what this call returns.
    func unexpected(_ expected: String) -> PushClientError {
        self.interference(.unexpectedBody, expected, self.json?.kind)
    }

    func interference(_ kind: Interference.Kind, _ expected: String, _ seen: String?) -> PushClientError {
        .interference(
            Interference(kind: kind, expected: expected, seen: seen, status: self.status, path: self.request.path)
        )
    }
}

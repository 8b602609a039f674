internal import Bytes
internal import Foundation
internal import PushAPI

/// An answer that has passed the checks: it is the server's own answer to this request.
struct Answer: Sendable {
    let request: APIRequest
    let status: Int
    let body: Data
    let fields: Fields
    /// The body as JSON; `nil` if the body is empty.
    let json: JSONValue?
    /// The account id that the answer is for, covered by the signature if answers are signed;
    /// `nil` if the answer names no account.
    let account: String?

    struct Fields: Sendable {
        let tag: String?
        /// Whether the publisher or the server's configuration forbids storing the answer. Always
        /// false for signed answers: the server sends `Cache-Control: no-store` with all of them,
        /// only to keep them out of proxies' caches.
        let isNoStore: Bool
        let retryAfter: Duration?
        /// When the server sent the answer, by the server's clock: the time of the signature, or
        /// the `Date` field of an unsigned answer.
        let serverTime: Date?
    }

    /// Returns the notification in the body, which must have the id `id`. `id` is `nil` if the
    /// server chose the notification's id.
    func item(_ id: Int64? = nil) throws(PushClientError) -> NotificationItem {
        guard let json, let item = NotificationItem(json) else { throw self.unexpected("a notification") }
        if let id, item.id != id { throw self.interference(.wrongID, "\(id)", "\(item.id)") }
        return item
    }

    /// The error `interference`, for a body whose JSON does not have the form of this call's
    /// answers.
    func unexpected(_ expected: String) -> PushClientError {
        self.interference(.unexpectedBody, expected, self.json?.kind)
    }

    func interference(_ kind: Interference.Kind, _ expected: String, _ seen: String?) -> PushClientError {
        .interference(
            Interference(kind: kind, expected: expected, seen: seen, status: self.status, path: self.request.path)
        )
    }

    /// The account id of the session in the body; `nil` if the server has no account ids. Throws
    /// unless the session belongs to the user with this name.
    func account(of username: String) throws(PushClientError) -> String? {
        let account = self.json?["Account"]?.text
        guard let name = self.json?["Name"]?.text else {
            // A server without account ids does not name the user of a new session.
            guard account == nil, self.account == nil, self.request.isSignIn else { throw self.unexpected("a session") }
            return nil
        }
        guard name.utf8.map(\.lowercased) == username.utf8.map(\.lowercased) else {
            throw self.interference(.wrongAccount, "the own name", "another name")
        }
        if let seen = self.account, seen != account {
            throw self.interference(.wrongAccount, account ?? "an account", seen)
        }
        return account
    }
}

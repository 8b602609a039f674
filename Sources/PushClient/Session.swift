public import Foundation
internal import PushAPI

/// The token that signing in returns: keep it where the system keeps secrets.
public struct Session: Sendable, Hashable {
    /// Sent with each request in place of the password.
    public let token: String
    /// The token is invalid from then on.
    public let expiresAt: Date
    /// The account's identifier; `nil` if the server has none.
    public let account: String?

    /// A session as an app's own tests want it.
    public init(token: String, expiresAt: Date, account: String? = nil) {
        self.token = token
        self.expiresAt = expiresAt
        self.account = account
    }

    init?(_ json: JSONValue) {
        guard let token = json["Token"]?.text, let expiresAt = json["ExpiresAt"]?.text.flatMap(Date.init(rfc3339:))
        else { return nil }
        self.token = token
        self.expiresAt = expiresAt
        self.account = json["Account"]?.text
    }
}

public import Foundation
internal import PushAPI

/// A session that signing in has begun. Store its token in the system's store for secrets.
public struct Session: Sendable, Hashable {
    /// The token that each request sends in place of the password.
    public let token: String
    /// When the token expires.
    public let expiresAt: Date
    /// The account id; `nil` if the server has no account ids.
    public let account: String?

    /// Creates a session for an app's own tests.
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

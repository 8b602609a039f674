public import Foundation
internal import PushAPI

/// The token that signing in gives: keep it where the system keeps secrets.
public struct Session: Sendable, Hashable {
    /// Shown with each request in place of the password.
    public let token: String
    /// From then on the token is no longer good.
    public let expiresAt: Date

    init?(_ json: JSONValue) {
        guard let token = json["Token"]?.text, let expiresAt = json["ExpiresAt"]?.text.flatMap(Date.init(rfc3339:))
        else { return nil }
        self.token = token
        self.expiresAt = expiresAt
    }
}

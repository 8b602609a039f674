internal import Bytes
internal import CurlHTTP
internal import Foundation
internal import PushCore
internal import Synchronization

/// The values of `Authorization` that are signed with one key, one for each push service. A value
/// is signed again only shortly before it expires.
///
/// It uses a `Mutex` rather than an actor: signing takes microseconds.
final class VAPIDTokens: Sendable {
    /// Half of the lifetime that RFC 8292 section 2 allows, to tolerate clock skew.
    static let lifetime: TimeInterval = 12 * 3600
    /// A token with less time left is not used again.
    static let shortestRemaining: TimeInterval = 3600
    /// How far the clock may be set back before a token counts as issued in the future.
    private static let clockSlack: TimeInterval = 60
    /// The maximum number of origins with a cached token, which is limited because devices name
    /// the origins. One more origin evicts all tokens.
    static let maximumOrigins = 1000

    private struct Token {
        let authorization: Secret<String>
        let end: Date
    }

    private let key: VAPIDKey
    private let subject: String
    private let tokens = Mutex<[String: Token]>([:])

    /// Throws unless `subject` is a contact on the Internet: `mailto:` with an address, or an
    /// https URL. Apple refuses tokens with other subjects (`BadJwtToken`).
    init(key: VAPIDKey, subject: String) throws(SenderSettingsError) {
        guard Self.isContact(subject) else {
            throw .badValue(
                field: "subject",
                expected: "mailto: and an address, or an https URL, at a public host name"
            )
        }
        self.key = key
        self.subject = subject
    }

    /// The value of `Authorization` for the push service with that origin.
    func authorization(for origin: String, now: Date) throws(SendFailure) -> Secret<String> {
        try self.tokens.withLock { tokens throws(SendFailure) in
            if let token = tokens[origin] {
                let rest = token.end.timeIntervalSince(now)
                if rest >= Self.shortestRemaining, rest <= Self.lifetime + Self.clockSlack {
                    return token.authorization
                }
            }
            let end = now + Self.lifetime
            let text: String
            do {
                text = try self.key.token(audience: origin, end: end, subject: self.subject)
            } catch {
                throw .misconfigured(reason: "signing with the key failed")
            }
            let authorization = Secret("vapid t=\(text), k=\(self.key.publicText)")
            if tokens.count >= Self.maximumOrigins { tokens.removeAll() }
            tokens[origin] = Token(authorization: authorization, end: end)
            return authorization
        }
    }

    private static func isContact(_ text: String) -> Bool {
        guard text.utf8.allSatisfy(\.isVisible) else { return false }
        if text.hasPrefix("https://") {
            return OutboundURL(text).map { HostPattern.isPublicName($0.host) } ?? false
        }
        let address = text.dropFirst("mailto:".count).split(separator: "@", omittingEmptySubsequences: false)
        return text.hasPrefix("mailto:") && address.count == 2 && !address[0].isEmpty
            && HostPattern.isPublicName(String(address[1]))
    }
}

internal import Cryptography
internal import Foundation
internal import PushCore
internal import Synchronization

/// The provider token of one key: an ES256 JWT that is signed again every fifty minutes.
///
/// Apple refuses a token that is older than an hour, and a token that replaces another within
/// twenty minutes. This class uses a `Mutex` rather than an actor: signing takes microseconds, and
/// callers that arrive meanwhile wait for its result.
final class APNsProviderToken: Sendable {
    static let lifetime: TimeInterval = 50 * 60
    static let shortestLifetime: TimeInterval = 20 * 60
    /// How far the clock may be set back before a token counts as issued in the future.
    private static let clockSlack: TimeInterval = 60

    struct Token: Sendable {
        let text: Secret<String>
        let issuedAt: Date
    }

    enum Replacement: Sendable {
        case made(Token)
        /// The refused token was already replaced by this one, after the refusal of another push.
        case alreadyMade(Token)
        /// The refused token may not be replaced yet.
        case tooYoung
    }

    private let key: P256.Signing.PrivateKey
    private let keyID: String
    private let teamID: String
    private let current = Mutex<Token?>(nil)

    /// Throws if `key` is not a P-256 key, or if an identifier is not ten letters and digits.
    init(key: Secret<String>, keyID: String, teamID: String) throws(SenderSettingsError) {
        for (field, value) in [("keyID", keyID), ("teamID", teamID)] where !Self.isIdentifier(value) {
            throw .badValue(field: field, expected: "ten letters and digits")
        }
        do {
            self.key = try P256.Signing.PrivateKey(pemRepresentation: key.exposed)
        } catch {
            // The error may quote the key, so it is not passed on.
            throw .badKey(field: "keyFile", expected: "a P-256 private key in PEM, as in Apple's .p8 file")
        }
        self.keyID = keyID
        self.teamID = teamID
    }

    /// The token for a push that is sent now.
    func token(now: Date) throws(SendFailure) -> Token {
        try self.replace(now: now) { token in
            let age = now.timeIntervalSince(token.issuedAt)
            return age >= Self.lifetime || age < -Self.clockSlack
        }
    }

    /// Decides whether a new token replaces a token that Apple has refused.
    func replacement(for refused: Token, now: Date) throws(SendFailure) -> Replacement {
        var isNew = false
        let token = try self.replace(now: now) { token in
            let isRefused = token.issuedAt == refused.issuedAt
            isNew = isRefused && now.timeIntervalSince(token.issuedAt) >= Self.shortestLifetime
            return isNew
        }
        if isNew { return .made(token) }
        return token.issuedAt == refused.issuedAt ? .tooYoung : .alreadyMade(token)
    }

    // MARK: - Private

    private func replace(now: Date, if isDue: (Token) -> Bool) throws(SendFailure) -> Token {
        try self.current.withLock { current throws(SendFailure) in
            if let token = current, !isDue(token) { return token }
            let token = Token(text: Secret(try self.sign(at: now)), issuedAt: now)
            current = token
            return token
        }
    }

    private func sign(at date: Date) throws(SendFailure) -> String {
        // Both identifiers are letters and digits, so JSON needs no escapes.
        let header = "{\"alg\":\"ES256\",\"kid\":\"\(self.keyID)\"}"
        let claims = "{\"iss\":\"\(self.teamID)\",\"iat\":\(Int(date.timeIntervalSince1970))}"
        do {
            return try JSONWebSignature.compact(header: header, claims: claims) { bytes in
                // The signature is R followed by S (RFC 7518 section 3.4), not DER.
                try self.key.signature(for: bytes).rawRepresentation
            }
        } catch {
            throw .misconfigured(reason: "signing with the key failed")
        }
    }

    private static func isIdentifier(_ text: String) -> Bool {
        text.utf8.count == 10 && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
    }
}

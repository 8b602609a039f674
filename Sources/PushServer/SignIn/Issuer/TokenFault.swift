internal import PushAPI

/// The reason why a token of an issuer is refused.
///
/// Until the signature is verified, the texts reveal only the content of the token and of the
/// issuer's public documents.
enum TokenFault: Error, Sendable, Hashable {
    /// The text is not a signed token, or has a form that the server does not accept.
    case form(String)
    /// A claim is missing or invalid.
    case claim(String)
    /// The token's expiry, or the longest time since it was issued, has passed.
    case expired
    /// The issuer has no such key.
    case unknownKey
    case signature
    /// A later token of the user has other rights.
    case superseded
    /// The user has no account here, or none that the issuer may sign in.
    case account(String)
    /// The issuer's keys are unknown, and cannot be read now.
    case unavailable

    var problem: Problem {
        switch self {
        case .form(let reason), .claim(let reason): Problem(.invalidBearerToken, reason)
        case .expired: Problem(.tokenExpired, "get a new token from the issuer")
        case .unknownKey: Problem(.invalidBearerToken, "the issuer has no such key")
        case .signature: Problem(.invalidBearerToken, "the token's signature is not the issuer's")
        case .superseded: Problem(.invalidBearerToken, "a later token of this user has other rights; use that one")
        case .account(let reason): Problem(.accountRefused, reason)
        case .unavailable: Problem(.issuerUnavailable)
        }
    }

    /// Whether somebody may be guessing tokens, which counts against the address.
    var isGuess: Bool {
        switch self {
        case .form, .claim, .unknownKey, .signature: true
        case .expired, .superseded, .account, .unavailable: false
        }
    }
}

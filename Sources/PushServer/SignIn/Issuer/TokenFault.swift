internal import PushAPI

/// Why a token of an issuer is refused.
///
/// The words tell its holder nothing but what is in the token and in the issuer's public documents, until the signature was
/// right.
enum TokenFault: Error, Sendable, Hashable {
    /// It is no signed token, or one in a form that is not taken.
    case form(String)
    /// A claim is missing, or is not what it must be.
    case claim(String)
    /// The time at which it ends, or the longest time since it was issued, has passed.
    case expired
    /// The issuer has no such key.
    case unknownKey
    case signature
    /// A later token of the user has other rights.
    case superseded
    /// Its person has no account here, or not one that the issuer may sign in.
    case account(String)
    /// The issuer's keys are not known, and cannot be read now.
    case unavailable

    var problem: Problem {
        switch self {
        case .form(let reason), .claim(let reason): Problem(.invalidBearerToken, reason)
        case .expired: Problem(.tokenExpired, "get another one from the issuer")
        case .unknownKey: Problem(.invalidBearerToken, "the issuer has no such key")
        case .signature: Problem(.invalidBearerToken, "the signature is not the issuer's")
        case .superseded: Problem(.invalidBearerToken, "a later token of this user has other rights; use that one")
        case .account(let reason): Problem(.accountRefused, reason)
        case .unavailable: Problem(.issuerUnavailable)
        }
    }

    /// Whether somebody may be trying tokens, which counts against the address.
    var isGuess: Bool {
        switch self {
        case .form, .claim, .unknownKey, .signature: true
        case .expired, .superseded, .account, .unavailable: false
        }
    }
}

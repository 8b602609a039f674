internal import PushAPI

/// The reason why a token of an issuer is refused.
///
/// If a fault is found before the signature is verified, its text reveals only the content of the
/// token and of the issuer's public documents.
struct TokenFault: Error, Sendable, Hashable {
    /// The part of the token that the server does not accept.
    enum Kind: String, Sendable, CaseIterable {
        /// The text is not a signed token, or has a form that the server does not accept.
        case form
        case algorithm, issuer, audience, party
        /// A claim other than those of the cases above is missing or invalid.
        case claim
        /// The token has expired, or was issued longer ago than the configuration allows.
        case expired
        /// The token is not valid yet.
        case early
        /// The issuer has no key with the id that the token names.
        case kid
        case signature
        /// A later token of the same user has other rights, and only the latest rights count.
        case superseded
        /// The user has no account on this server, or has an account to which a token of the
        /// issuer may not sign in.
        case account
        /// The issuer's keys are unknown, and the server cannot read them now.
        case unavailable
    }

    let kind: Kind
    /// The text of the answer.
    let detail: String
    /// The value in the token (`found`), and the accepted values (`expected`). Only the log shows
    /// them, not the answer.
    let found: String?
    let expected: String?

    private init(_ kind: Kind, _ detail: String, found: String? = nil, expected: String? = nil) {
        (self.kind, self.detail, self.found, self.expected) = (kind, detail, found, expected)
    }

    static func form(_ detail: String) -> TokenFault { TokenFault(.form, detail) }
    static func claim(_ detail: String) -> TokenFault { TokenFault(.claim, detail) }
    static func account(_ detail: String) -> TokenFault { TokenFault(.account, detail) }

    /// The fault that a value of the token is not one of the expected values; `found` is `nil` if
    /// the value is missing.
    static func mismatch(
        _ kind: Kind,
        _ detail: String,
        found: String?,
        expected: some Collection<String>
    ) -> TokenFault {
        TokenFault(kind, detail, found: found ?? "nothing", expected: expected.joined(separator: ", "))
    }

    static let signature = TokenFault(.signature, "the token's signature is not the issuer's")
    static let superseded = TokenFault(
        .superseded,
        "a later token of this user has other rights; use that one"
    )
    static let unavailable = TokenFault(.unavailable, "the issuer's keys cannot be read")

    var problem: Problem {
        switch self.kind {
        case .form, .algorithm, .issuer, .audience, .party, .claim, .early, .kid, .signature, .superseded:
            Problem(.invalidBearerToken, self.detail)
        case .expired: Problem(.tokenExpired, self.detail)
        case .account: Problem(.accountRefused, self.detail)
        case .unavailable: Problem(.issuerUnavailable)
        }
    }

    /// Whether the fault suggests that somebody guesses tokens; then it counts against the
    /// client's address.
    var isGuess: Bool {
        switch self.kind {
        case .form, .algorithm, .issuer, .audience, .party, .claim, .early, .kid, .signature: true
        case .expired, .superseded, .account, .unavailable: false
        }
    }

    /// Whether the log reports the fault: only if the status of the answer is 401.
    var isLogged: Bool { self.problem.status == 401 }
}

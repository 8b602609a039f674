package import Foundation
internal import PushAPI
package import PushCore

/// The rules for tokens of one issuer: which tokens the server accepts, and what their claims
/// mean.
package struct IssuerRules: Sendable {
    /// A mapping from the values of a claim to roles, apps or scopes.
    package struct Mapping<Right: Hashable & Sendable>: Sendable {
        /// The name of the claim, or a path to it through nested objects.
        package var claim: String
        /// For each right, the values of the claim that give this right. One of these values
        /// suffices.
        package var values: [Right: Set<String>]

        package init(claim: String, values: [Right: Set<String>]) {
            self.claim = claim
            self.values = values
        }
    }

    /// The issuer's name, which is compared with `iss` byte for byte.
    package var issuer: String
    /// Earlier names of the issuer: a user of the issuer keeps an account that was made under an
    /// earlier name. The server accepts no tokens with these names.
    package var formerIssuers: Set<String> = []
    /// The audiences that the server accepts; `aud` of a token must contain at least one of them.
    package var audiences: Set<String>
    /// The claim that contains the audience if a token has no `aud`: for example, access tokens of
    /// Amazon Cognito have none. `nil` if the server refuses tokens without `aud`.
    package var audienceClaim: String?
    package var algorithms = Set(TokenAlgorithm.allCases)
    /// The clients for which the issuer may have issued a token; a token names its client in `azp`
    /// or `client_id`. If the set is empty, tokens for any client are accepted, but then all
    /// audiences of a token must be in `audiences`.
    package var authorizedParties: Set<String> = []
    /// The claim that contains the user's name (`nameClaim`), and the text that the server puts
    /// before the name (`namePrefix`).
    package var nameClaim = "sub"
    package var namePrefix = ""
    /// Whether the server makes an account for a user whose name is unknown.
    package var createsUsers = false
    /// Whether users who have a password may sign in by tokens, too.
    package var includesPasswordUsers = false
    /// The claim that determines the user's role; `nil` if users keep the roles of their accounts.
    package var roles: Mapping<Role>?
    /// The role of users to whom the claim of `roles` gives no role; `nil` if these users cannot
    /// sign in.
    package var otherRole: Role?
    /// The claim that contains the user's apps; `nil` if users keep the apps of their accounts.
    package var appsClaim: String?
    /// The configured apps.
    package var knownApps: Set<AppName> = [.usual]
    /// The claim that determines the caller's scopes; `nil` if callers have the usual scopes of
    /// their roles.
    package var scopes: Mapping<Scopes>?
    /// The tolerated clock skew, in seconds.
    package var leeway: TimeInterval = 30
    /// How long a token is accepted after it was issued, at most, in seconds.
    package var maximumAge: TimeInterval = 86_400
    /// Whether a caller may begin a session with a token. The session lasts longer than the token.
    package var allowsSessions = false

    package init(issuer: String, audiences: Set<String>) {
        self.issuer = issuer
        self.audiences = audiences
    }

    /// The identity and the rights in a token's claims. The caller of this method must also verify
    /// the token's signature.
    func identity(in claims: TokenObject, now: Date) throws(TokenFault) -> IssuedIdentity {
        let issuer = try claims.text("iss")
        guard issuer?.utf8.elementsEqual(self.issuer.utf8) == true else {
            throw .mismatch(.issuer, "iss is not the configured issuer", found: issuer, expected: [self.issuer])
        }
        try self.checkAudience(of: claims)
        // RFC 7800, RFC 8705 and RFC 9449: a token with `cnf` proves nothing unless its sender
        // proves that it has the key that `cnf` names.
        guard claims["cnf"] == nil else {
            throw .claim("the token is bound to a key by cnf, which is not checked here")
        }
        guard let subject = try claims.text("sub"), !subject.isEmpty else { throw .claim("sub is missing") }
        let (issuedAt, end) = try self.times(of: claims, now: now)
        guard let text = try claims.text(self.nameClaim), !text.isEmpty else {
            throw .claim("\(self.nameClaim) is missing, which has the user's name")
        }
        guard let name = Username(escaping: text, after: self.namePrefix) else {
            throw .claim("\(self.nameClaim) makes a user name of more than \(Username.maximumLength) characters")
        }
        guard !name.isDotSegment else {
            throw .claim("\(self.nameClaim) is not the name of a user: it must not be . or ..")
        }
        return IssuedIdentity(
            subject: subject,
            name: name,
            rights: IssuedRights(
                role: try self.role(by: claims),
                apps: try self.apps(by: claims),
                scopes: self.scopes(by: claims)
            ),
            issuedAt: issuedAt,
            expiresAt: end
        )
    }

    private func checkAudience(of claims: TokenObject) throws(TokenFault) {
        let audiences = try self.audiences(of: claims)
        func mismatch(_ detail: String) -> TokenFault {
            .mismatch(
                .audience,
                detail,
                found: audiences.joined(separator: ", "),
                expected: self.audiences.sorted()
            )
        }
        guard audiences.contains(where: self.audiences.contains) else {
            throw mismatch("\(self.audienceName(claims)) is not for this server")
        }
        let (party, client) = (try claims.text("azp"), try claims.text("client_id"))
        if self.authorizedParties.isEmpty {
            // If `authorizedParties` is empty, no other audience may be in the token: a service
            // that is another audience receives the token, too, and could use it at this server.
            guard audiences.allSatisfy(self.audiences.contains) else {
                throw mismatch("aud has others as well, and no authorizedParties are configured")
            }
        } else {
            guard let party = party ?? client, self.authorizedParties.contains(party) else {
                throw .mismatch(
                    .party,
                    "azp or client_id is not one of authorizedParties",
                    found: party ?? client,
                    expected: self.authorizedParties.sorted()
                )
            }
        }
    }

    private func audiences(of claims: TokenObject) throws(TokenFault) -> [String] {
        switch claims["aud"] {
        case .string(let text): return [text]
        case .array(let elements):
            let audiences = elements.compactMap(\.text)
            guard audiences.count == elements.count else { throw .claim("aud must have strings only") }
            return audiences
        case nil:
            guard let audienceClaim else { throw .claim("aud is missing") }
            guard let text = try claims.text(audienceClaim) else {
                throw .claim("aud is missing, and so is \(audienceClaim)")
            }
            return [text]
        default: throw .claim("aud must be a string or a list of strings")
        }
    }

    /// The name of the claim that contains the audience. `audienceClaim` counts only in a token
    /// without `aud`: otherwise a token for another service, with an accepted client in
    /// `audienceClaim`, could be accepted.
    private func audienceName(_ claims: TokenObject) -> String {
        claims["aud"] == nil ? self.audienceClaim ?? "aud" : "aud"
    }

    /// The time at which the token was issued, and the time until which the server accepts it.
    private func times(of claims: TokenObject, now: Date) throws(TokenFault) -> (issuedAt: Date, end: Date) {
        guard let expiry = try claims.time("exp") else { throw .claim("exp is missing") }
        guard let issuedAt = try claims.time("iat") else { throw .claim("iat is missing") }
        try self.check("iat", issuedAt, isPast: now)
        if let start = try claims.time("nbf") { try self.check("nbf", start, isPast: now) }
        let end = min(expiry, issuedAt + self.maximumAge) + self.leeway
        guard now < end else {
            let isByAge = issuedAt + self.maximumAge <= expiry
            let age = Self.seconds(isByAge ? issuedAt : expiry, now)
            let leeway = Int(self.leeway)
            throw .mismatch(
                .expired,
                "get a new token from the issuer",
                found: "\(isByAge ? "iat" : "exp") \(age) s ago",
                expected: [
                    isByAge
                        ? "iat less than \(Int(self.maximumAge) + leeway) s ago, of which \(leeway) s are leeway"
                        : "exp in the future, or less than \(leeway) s ago, the leeway"
                ]
            )
        }
        return (issuedAt, end)
    }

    private func check(_ name: String, _ time: Date, isPast now: Date) throws(TokenFault) {
        guard time <= now + self.leeway else {
            throw .mismatch(
                .early,
                "\(name) is in the future",
                found: "\(name) in \(Self.seconds(now, time)) s",
                expected: ["in at most \(Int(self.leeway)) s, the leeway"]
            )
        }
    }

    /// The number of seconds from one time to the other, for messages. Both times are in tokens,
    /// so they are not later than the year 9999, and the number fits into an `Int`.
    private static func seconds(_ time: Date, _ other: Date) -> Int { Int(other.timeIntervalSince(time)) }

    private func role(by claims: TokenObject) throws(TokenFault) -> Role? {
        guard let roles else { return nil }
        let values = Set(claims.texts(at: roles.claim))
        let given = Role.allCases.last { roles.values[$0]?.isDisjoint(with: values) == false }
        guard let role = given ?? self.otherRole else { throw .account("\(roles.claim) gives no role here") }
        return role
    }

    private func apps(by claims: TokenObject) throws(TokenFault) -> Set<AppName>? {
        guard let appsClaim else { return nil }
        let apps = Set(claims.texts(at: appsClaim).compactMap { AppName($0) }).intersection(self.knownApps)
        guard !apps.isEmpty else { throw .account("\(appsClaim) names no app of this server") }
        return apps
    }

    private func scopes(by claims: TokenObject) -> Scopes? {
        guard let scopes else { return nil }
        let values = Set(claims.texts(at: scopes.claim))
        return scopes.values.filter { !$1.isDisjoint(with: values) }.keys.reduce(into: []) { $0.formUnion($1) }
    }
}

/// The user that a token names, and the rights that its claims give.
struct IssuedIdentity: Sendable, Hashable {
    /// The text of `sub`, unchanged.
    let subject: String
    let name: Username
    let rights: IssuedRights
    let issuedAt: Date
    /// The time from which the server no longer accepts the token.
    let expiresAt: Date
}

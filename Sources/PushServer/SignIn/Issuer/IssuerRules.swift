package import Foundation
internal import PushAPI
package import PushCore
internal import PushStore

/// Whose tokens are taken, and what their claims mean here.
package struct IssuerRules: Sendable {
    /// The roles, apps or scopes that the values of a claim give.
    package struct Mapping<Right: Hashable & Sendable>: Sendable {
        /// The claim's name, or a path through objects.
        package var claim: String
        /// For each right, the values of which any one gives it.
        package var values: [Right: Set<String>]

        package init(claim: String, values: [Right: Set<String>]) {
            self.claim = claim
            self.values = values
        }
    }

    /// Compared with `iss` byte for byte.
    package var issuer: String
    /// The names that the issuer had before: accounts of its users stay theirs. Tokens with these names are not taken.
    package var formerIssuers: Set<String> = []
    /// One of them must be in `aud`.
    package var audiences: Set<String>
    package var algorithms = Set(TokenAlgorithm.allCases)
    /// The clients that tokens may have been issued to, by `azp` or `client_id`; empty: any, for tokens of no other audience.
    package var authorizedParties: Set<String> = []
    /// The claim with the user's name, and what is put before it.
    package var nameClaim = "sub"
    package var namePrefix = ""
    /// Whether an account is made for a name that has none.
    package var createsUsers = false
    /// Whether users who have a password are signed in, too.
    package var includesPasswordUsers = false
    /// `nil`: roles are the accounts' own.
    package var roles: Mapping<Role>?
    /// The role of who has none by that claim; `nil`: is not signed in.
    package var otherRole: Role?
    /// The claim with the user's apps; `nil`: apps are the accounts' own.
    package var appsClaim: String?
    /// The apps that there are.
    package var knownApps: Set<AppName> = [.usual]
    /// `nil`: all scopes of the role but `manage`.
    package var scopes: Mapping<Scopes>?
    /// How far the clocks may differ.
    package var leeway: TimeInterval = 30
    /// How long after it was issued a token is taken at most.
    package var maximumAge: TimeInterval = 86_400
    /// Whether a token may begin a session, which lasts longer than it.
    package var allowsSessions = false

    package init(issuer: String, audiences: Set<String>) {
        self.issuer = issuer
        self.audiences = audiences
    }

    /// Whom a token's claims name, with what rights. Its signature must be checked as well.
    func identity(in claims: TokenObject, now: Date) throws(TokenFault) -> IssuedIdentity {
        guard try claims.text("iss")?.utf8.elementsEqual(self.issuer.utf8) == true else {
            throw .claim("iss is not the configured issuer")
        }
        try self.checkAudience(of: claims)
        // RFC 7800, RFC 8705 and RFC 9449: it proves nothing without a key that its holder must show.
        guard claims["cnf"] == nil else {
            throw .claim("the token is bound to a key by cnf, which is not checked here")
        }
        guard let subject = try claims.text("sub"), !subject.isEmpty else { throw .claim("sub is missing") }
        let (issuedAt, end) = try self.times(of: claims, now: now)
        guard let text = try claims.text(self.nameClaim), !text.isEmpty else {
            throw .claim("\(self.nameClaim) is missing, which has the user's name")
        }
        guard let name = Username(self.namePrefix + text), ![".", ".."].contains(name.description) else {
            throw .claim("\(self.nameClaim) is not the name of a user: 1 to 100 letters, digits, -, _, @, # or .")
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
        let audiences: [String]
        switch claims["aud"] {
        case .string(let text): audiences = [text]
        case .array(let elements):
            audiences = elements.compactMap(\.text)
            guard audiences.count == elements.count else { throw .claim("aud must have strings only") }
        default: throw .claim("aud is missing")
        }
        guard audiences.contains(where: self.audiences.contains) else { throw .claim("aud is not for this server") }
        let (party, client) = (try claims.text("azp"), try claims.text("client_id"))
        if self.authorizedParties.isEmpty {
            // Each of the others could show here what was shown there.
            guard audiences.allSatisfy(self.audiences.contains) else {
                throw .claim("aud has others as well, and no authorizedParties are configured")
            }
        } else {
            guard let party = party ?? client, self.authorizedParties.contains(party) else {
                throw .claim("azp or client_id is not one of authorizedParties")
            }
        }
    }

    /// When the token was issued, and until when it is taken.
    private func times(of claims: TokenObject, now: Date) throws(TokenFault) -> (issuedAt: Date, end: Date) {
        guard let expiry = try claims.time("exp") else { throw .claim("exp is missing") }
        guard let issuedAt = try claims.time("iat") else { throw .claim("iat is missing") }
        guard issuedAt <= now + self.leeway else { throw .claim("iat is in the future") }
        if let start = try claims.time("nbf"), start > now + self.leeway { throw .claim("nbf is in the future") }
        let end = min(expiry, issuedAt + self.maximumAge) + self.leeway
        guard now < end else { throw .expired }
        return (issuedAt, end)
    }

    private func role(by claims: TokenObject) throws(TokenFault) -> Role? {
        guard let roles else { return nil }
        let values = Set(claims.texts(at: roles.claim))
        let given = roles.values.filter { !$1.isDisjoint(with: values) }.keys.max()
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

/// Whom a token names, and what rights its claims give.
struct IssuedIdentity: Sendable, Hashable {
    /// Exactly as `sub` has it.
    let subject: String
    let name: Username
    let rights: IssuedRights
    let issuedAt: Date
    /// When the token is no longer taken.
    let expiresAt: Date
}

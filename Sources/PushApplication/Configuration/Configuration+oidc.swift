import CurlHTTP
import Foundation
import PushCore
import PushServer
import SocketHTTP

extension Configuration {
    /// An OIDC issuer with whose tokens users can sign in.
    struct OIDC: Sendable {
        /// The rules for tokens, except for the set of configured apps, which `IssuerSetup` adds.
        var rules: IssuerRules
        var url: OutboundURL
        var caFile: String?
        /// Whether calls to the issuer bypass the proxy.
        var isDirect = false

        /// Reads the section about the issuer; `nil` if no issuer is configured. Throws
        /// `ConfigurationError` for a bad value.
        init?(_ section: ConfigurationSection) throws {
            let issuer = try section.string("issuer")
            let audiences = Set(try section.strings("audience") ?? [])
            var rules = IssuerRules(issuer: issuer ?? "", audiences: audiences)
            try rules.read(section)
            self.caFile = try section.string("caFile")
            try section.bool("direct", into: &self.isDirect)
            try section.finish()
            guard let issuer else { return nil }
            guard let url = OutboundURL(issuer), !issuer.contains("?"), url.isSecure || url.isLocal else {
                throw section.error("issuer", nil, "must be https:// and a host, with an optional port and path")
            }
            guard !audiences.isEmpty, !audiences.contains("") else {
                throw section.error("audience", nil, "is missing: the value that tokens for this server have in aud")
            }
            (self.rules, self.url) = (rules, url)
        }
    }
}

extension IssuerRules {
    fileprivate mutating func read(_ section: ConfigurationSection) throws {
        if let names = try section.strings("algorithms") {
            self.algorithms = Set(
                try names.map { name in
                    guard let algorithm = TokenAlgorithm(rawValue: name) else {
                        let known = TokenAlgorithm.allCases.map(\.rawValue).joined(separator: ", ")
                        throw section.error("algorithms", nil, "\"\(name)\" must be one of \(known)")
                    }
                    return algorithm
                }
            )
            guard !self.algorithms.isEmpty else { throw section.error("algorithms", nil, "needs one or more") }
        }
        let audienceClaim = try section.string("audienceClaim", oneOf: ["aud", "client_id", "azp"])
        self.audienceClaim = audienceClaim == "aud" ? nil : audienceClaim
        self.formerIssuers = Set(try section.strings("formerIssuers") ?? [])
        self.authorizedParties = Set(try section.strings("authorizedParties") ?? [])
        let name = try section.section("name")
        try name.string("claim", into: &self.nameClaim)
        try name.string("prefix", into: &self.namePrefix)
        guard self.namePrefix.isEmpty || Username(self.namePrefix) != nil else {
            throw name.error("prefix", nil, "must be \(Username.rule)")
        }
        try name.finish()
        self.createsUsers = try section.string("users", oneOf: ["existing", "created"]) == "created"
        try section.bool("passwordUsers", into: &self.includesPasswordUsers)
        try self.readRights(section)
        if let age = try section.wholeSeconds("maxAge", in: 60...2_592_000) { self.maximumAge = TimeInterval(age) }
        try section.bool("sessions", into: &self.allowsSessions)
    }

    private mutating func readRights(_ section: ConfigurationSection) throws {
        let roles = try section.section("roles")
        self.otherRole = try roles.string("otherwise", oneOf: Role.allCases.map(\.rawValue)).flatMap(
            Role.init(rawValue:)
        )
        self.roles = try Mapping(roles, Role.allCases.map { ($0, $0.rawValue) })
        if self.otherRole != nil, self.roles == nil {
            throw roles.error("otherwise", nil, "needs roles.claim, the claim that gives roles")
        }
        try roles.finish()
        let apps = try section.section("apps")
        self.appsClaim = try apps.string("claim")
        try apps.finish()
        let scopes = try section.section("scopes")
        self.scopes = try Mapping(
            scopes,
            Scopes.all.names.compactMap { name in Scopes(named: name).map { ($0, name) } }
        )
        try scopes.finish()
    }
}

extension IssuerRules.Mapping {
    /// Reads the mapping of a claim; `nil` if no claim is configured. Throws `ConfigurationError`
    /// for lists of values without a claim, and for a claim without lists of values.
    fileprivate init?(_ section: ConfigurationSection, _ rights: [(right: Right, key: String)]) throws {
        let claim = try section.string("claim")
        var values: [Right: Set<String>] = [:]
        for (right, key) in rights {
            if let texts = try section.strings(key), !texts.isEmpty { values[right] = Set(texts) }
        }
        guard let claim else {
            guard values.isEmpty else {
                throw section.error("claim", nil, "is missing: the name of the claim with these values")
            }
            return nil
        }
        guard !values.isEmpty else {
            // `finish()` reports a misspelt key first, since a misspelling is the more probable
            // mistake.
            try section.finish()
            let keys = rights.map(\.key).joined(separator: ", ")
            throw section.error("claim", nil, "has no effect; list some of its values under \(keys)")
        }
        self.init(claim: claim, values: values)
    }
}

extension OutboundURL {
    /// Whether the URL names this machine, where TLS would protect nothing.
    fileprivate var isLocal: Bool { ["localhost", "127.0.0.1", "[::1]"].contains(self.host) }
}

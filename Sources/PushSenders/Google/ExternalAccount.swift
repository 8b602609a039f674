internal import Bytes
internal import CurlHTTP
internal import Foundation
internal import PushCore

/// A configuration of workload identity federation (https://google.aip.dev/auth/4117). The server
/// exchanges a token of another identity provider for a token of Google.
///
/// The URLs in the file are not trusted: whoever can change the file could make the server send
/// tokens to a stranger. So each URL must be https at an allowed host; only the address of a
/// metadata server may be http.
struct ExternalAccount: Sendable {
    static let type = "external_account"
    static let googleTokenEndpoint = "https://sts.googleapis.com/v1/token"
    /// The numbers of seconds that Google accepts as the lifetime of a token for an impersonated
    /// account.
    private static let lifetimes = 600...43_200
    private static let usualLifetime = 3600
    private static let tokenTypes = ["jwt", "id_token", "saml2"].map { "urn:ietf:params:oauth:token-type:" + $0 }

    /// The account in whose name the server sends.
    struct Impersonation: Sendable, Hashable {
        let url: OutboundURL
        /// The lifetime of the account's token, in seconds.
        let lifetime: Int
    }

    /// The resource name of the identity provider in Google's workload identity pool. This
    /// provider issues the subject token.
    let audience: String
    let subjectTokenType: String
    let tokenURL: OutboundURL
    let impersonation: Impersonation?
    let source: SubjectTokenSource

    private struct File: Decodable {
        struct Lifetime: Decodable {
            let seconds: Int?

            private enum CodingKeys: String, CodingKey {
                case seconds = "token_lifetime_seconds"
            }
        }

        let audience: String?
        let subjectTokenType: String?
        let tokenURL: String?
        let impersonationURL: String?
        let impersonation: Lifetime?
        let clientID: String?
        let source: SubjectTokenSource.File?

        private enum CodingKeys: String, CodingKey {
            case audience
            case subjectTokenType = "subject_token_type"
            case tokenURL = "token_url"
            case impersonationURL = "service_account_impersonation_url"
            case impersonation = "service_account_impersonation"
            case clientID = "client_id"
            case source = "credential_source"
        }
    }

    /// Reads the JSON file; if the operator has configured `tokenEndpoint`, it replaces the one in
    /// the file.
    init(
        _ json: Secret<String>,
        tokenEndpoint: String?,
        allowedHosts: [String]
    ) throws(SenderSettingsError) {
        // The error of the decoder may quote the file, so this error is not passed on.
        guard let file = try? JSONDecoder().decode(File.self, from: Data(json.exposed.utf8)) else {
            throw .badValue(field: "serviceAccount", expected: "the JSON file of a workload identity federation")
        }
        guard file.clientID == nil else {
            throw .badValue(field: "client_id", expected: "left out: only pools for workloads are supported")
        }
        let audience = try Self.required(file.audience, "audience")
        guard
            audience.hasPrefix("//iam.googleapis.com/projects/"), audience.utf8.allSatisfy(\.isVisible),
            audience.contains("/workloadIdentityPools/"), audience.contains("/providers/")
        else {
            throw .badValue(field: "audience", expected: "the provider of a workload identity pool")
        }
        let source = try Self.required(file.source, "credential_source")
        // The source is checked before the type of its tokens, so that the error for an
        // unsupported kind of source names the source.
        let hosts = try Hosts(allowedHosts)
        self.source = try SubjectTokenSource(source, hosts: hosts)
        let type = try Self.required(file.subjectTokenType, "subject_token_type")
        guard Self.tokenTypes.contains(type) else {
            let known = Self.tokenTypes.joined(separator: ", ")
            throw .badValue(field: "subject_token_type", expected: "one of \(known)")
        }
        self.audience = audience
        self.subjectTokenType = type
        if let tokenEndpoint {
            self.tokenURL = try ConnectionSettings.endpoint(tokenEndpoint, field: "tokenEndpoint")
        } else {
            self.tokenURL = try hosts.url(try Self.required(file.tokenURL, "token_url"), field: "token_url")
        }
        self.impersonation = try Self.impersonation(file, hosts)
    }

    private static func impersonation(_ file: File, _ hosts: Hosts) throws(SenderSettingsError) -> Impersonation? {
        guard let text = file.impersonationURL else { return nil }
        let url = try hosts.url(text, field: "service_account_impersonation_url")
        guard text.hasSuffix(":generateAccessToken") else {
            let expected = "a URL that ends in :generateAccessToken"
            throw .badValue(field: "service_account_impersonation_url", expected: expected)
        }
        let lifetime = file.impersonation?.seconds ?? self.usualLifetime
        guard self.lifetimes.contains(lifetime) else {
            let expected = "from \(self.lifetimes.lowerBound) to \(self.lifetimes.upperBound)"
            throw .badValue(field: "service_account_impersonation.token_lifetime_seconds", expected: expected)
        }
        return Impersonation(url: url, lifetime: lifetime)
    }

    private static func required<Value>(_ value: Value?, _ field: String) throws(SenderSettingsError) -> Value {
        guard let value else { throw .missingField(field) }
        return value
    }

    /// The hosts that the file may name.
    struct Hosts: Sendable {
        private let patterns: [HostPattern]

        init(_ texts: [String]) throws(SenderSettingsError) {
            var patterns: [HostPattern] = []
            for text in texts {
                guard let pattern = HostPattern(text) else {
                    throw .badValue(field: "allowedHosts", expected: "hosts such as *.googleapis.com")
                }
                patterns.append(pattern)
            }
            self.patterns = patterns
        }

        /// Throws unless the URL is https, at an allowed host.
        func url(_ text: String, field: String) throws(SenderSettingsError) -> OutboundURL {
            guard let url = OutboundURL(text), url.isSecure else {
                throw .badValue(field: field, expected: "an https URL")
            }
            guard self.patterns.contains(where: { $0.matches(url) }) else {
                throw .badValue(field: field, expected: "at a host of allowedHosts, and not at \(url.host)")
            }
            return url
        }
    }
}

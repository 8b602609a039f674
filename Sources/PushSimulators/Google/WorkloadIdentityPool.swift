package import Foundation

/// A workload identity pool of Google's with one provider, and the checks of its token exchange:
/// https://cloud.google.com/iam/docs/reference/sts/rest/v1/TopLevel/token
package struct WorkloadIdentityPool: Sendable {
    private static let scopes: Set<Substring> = [
        "https://www.googleapis.com/auth/firebase.messaging", "https://www.googleapis.com/auth/cloud-platform",
        "https://www.googleapis.com/auth/iam",
    ]
    /// The longest lifetime of a subject token.
    private static let longestLife = 86_400.0

    private struct Claims: Decodable {
        let iss: String
        let aud: String
        let sub: String
        let iat: Double
        let exp: Double
    }

    /// The key of the identity provider, P-256.
    package let key: SigningKey
    package let issuer = "https://identity.example"
    /// The full name of the pool's provider.
    package let audience =
        "//iam.googleapis.com/projects/123456789/locations/global/workloadIdentityPools/pool/providers/provider"

    /// The audience that a subject token must have.
    package var subjectAudience: String { "https:" + self.audience }

    /// Makes a pool whose identity provider signs with that key.
    package init(key: SigningKey) {
        self.key = key
    }

    /// The claims of a valid subject token, which the identity provider signs with ES256.
    package func claims(issued: Date, life: Int = 3600) -> String {
        let time = Int(issued.timeIntervalSince1970)
        return #"{"iss":"\#(self.issuer)","aud":"\#(self.subjectAudience)","sub":"system:serviceaccount:push","#
            + #""iat":\#(time),"exp":\#(time + life)}"#
    }

    /// The reason to reject a subject token; `nil` if it is valid.
    package func objection(to text: String, now: Date) -> String? {
        guard let token = JSONWebToken(text), token.header.alg == "ES256" else {
            return "Invalid ID Token: it could not be parsed."
        }
        guard self.key.isES256(token.signature, of: token.signedText) else {
            return "Invalid ID Token: the signature could not be verified."
        }
        guard let claims = token.claims(as: Claims.self) else { return "Invalid ID Token: a claim is missing." }
        guard claims.iss == self.issuer else { return "The issuer in ID Token \(claims.iss) is not expected." }
        guard claims.aud == self.subjectAudience else {
            return "The audience in ID Token [\(claims.aud)] does not match the expected audience."
        }
        let time = now.timeIntervalSince1970
        guard claims.iat <= time, time < claims.exp, claims.exp - claims.iat <= Self.longestLife else {
            return "ID Token issued at \(Int(claims.iat)) is stale to sign-in."
        }
        return nil
    }

    /// Checks a request for an exchange by RFC 8693. If it is valid, the answer comes from
    /// `issue`, which gets the requested scope.
    func judge(_ request: SimulatedRequest, now: Date, issue: (Substring) -> SimulatedResponse) -> Judgement {
        guard request.method == "POST", let form = FormFields(request) else {
            return .oauthError("invalid_request", "Not a form.")
        }
        guard form["grant_type"] == "urn:ietf:params:oauth:grant-type:token-exchange" else {
            return .oauthError("unsupported_grant_type", "Invalid grant_type")
        }
        guard form["requested_token_type"] == "urn:ietf:params:oauth:token-type:access_token" else {
            return .oauthError("invalid_request", "Invalid value for \"requested_token_type\"")
        }
        guard form["audience"] == self.audience else {
            let text = "The target service indicated by the \"audience\" parameters is invalid."
            return .oauthError("invalid_target", text)
        }
        let types = ["jwt", "id_token"].map { "urn:ietf:params:oauth:token-type:" + $0 }
        guard types.contains(form["subject_token_type"] ?? "") else {
            return .oauthError("invalid_request", "Invalid value for \"subject_token_type\"")
        }
        guard let scope = (form["scope"] ?? "").split(separator: " ").first(where: Self.scopes.contains) else {
            return .oauthError("invalid_scope", "Some requested scopes are invalid.")
        }
        if let objection = self.objection(to: form["subject_token"] ?? "", now: now) {
            return .oauthError("invalid_grant", objection)
        }
        return .accepted(issue(scope))
    }
}

internal import Bytes
package import Foundation

/// Authenticates the sender by the rules of RFC 8292 section 2 and of Apple's stricter service.
package struct VAPIDVerifier: Sendable {
    private struct Claims: Decodable {
        let aud: String
        /// The expiry must be a number: a string is refused, as Mozilla's service does.
        let exp: Double
        let sub: String
    }

    /// The origin of the push service.
    package let audience: String
    private static let longestLife: TimeInterval = 86_400

    package init(audience: String) {
        self.audience = audience
    }

    /// The public key, in base64url, whose owner signed the token in `Authorization`. Throws the
    /// refusal with which a push service answers.
    package func signer(of authorization: String?, now: Date) throws(WebPushRefusal) -> String {
        guard let authorization else { throw WebPushRefusal(401, "MissingVapid") }
        let parameters = Self.parameters(of: authorization)
        guard
            let token = parameters["t"].flatMap(JSONWebToken.init), token.header.alg == "ES256",
            let key = parameters["k"], let point = Base64.url.bytes(in: key.utf8),
            let publicKey = P256PublicKey(point: point),
            publicKey.isES256(token.signature, of: token.signedText),
            let claims = token.claims(as: Claims.self)
        else { throw WebPushRefusal(403, "BadJwtToken") }
        let end = Date(timeIntervalSince1970: claims.exp)
        guard
            claims.aud == self.audience, end > now, end <= now + Self.longestLife,
            // Like Apple's service, the simulator refuses a contact at localhost.
            claims.sub.hasPrefix("mailto:") && claims.sub.contains("@") || claims.sub.hasPrefix("https://"),
            !claims.sub.hasSuffix("localhost")
        else { throw WebPushRefusal(403, "BadJwtToken") }
        return key
    }

    /// The parameters of `vapid t=…, k=…`; empty for another scheme.
    private static func parameters(of authorization: String) -> [String: String] {
        let parts = authorization.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "vapid" else { return [:] }
        var parameters: [String: String] = [:]
        for parameter in parts[1].split(separator: ",") {
            let pair = parameter.trimmingCharacters(in: .whitespaces).split(separator: "=", maxSplits: 1)
            if pair.count == 2 { parameters[String(pair[0])] = String(pair[1]) }
        }
        return parameters
    }
}

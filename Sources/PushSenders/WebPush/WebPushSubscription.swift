internal import Bytes
internal import Cryptography
package import CurlHTTP
internal import Foundation

/// The subscription that a browser gives a page: `JSON.stringify(subscription)`, W3C Push API.
package struct WebPushSubscription: Sendable {
    /// The reason why a text is not a subscription, as the end of a sentence about it.
    package enum Flaw: Error, Sendable, Hashable, CustomStringConvertible {
        case notJSON
        case badEndpoint
        case badKey
        case badSecret

        package var description: String {
            switch self {
            case .notJSON: "it must be a browser's subscription: an object with endpoint, keys.p256dh and keys.auth"
            case .badEndpoint: "endpoint must be an https URL without user, fragment or trailing dot"
            case .badKey: "keys.p256dh must be an uncompressed point on P-256 in base64url"
            case .badSecret: "keys.auth must be 16 bytes in base64url"
            }
        }
    }

    /// A secret: whoever knows it can push.
    package let endpoint: OutboundURL
    /// The browser's public key, 65 bytes.
    let publicKey: P256.KeyAgreement.PublicKey
    /// The browser's `auth`.
    let secret: [UInt8]

    private struct Members: Decodable {
        struct Keys: Decodable {
            let p256dh: String
            let auth: String
        }

        let endpoint: String
        let keys: Keys
    }

    /// Reads the object; other members are ignored.
    ///
    /// Throws `Flaw` if a member is missing or malformed.
    package init(_ json: String) throws(Flaw) {
        // The parser's reason does not matter to the client: the form is always the same.
        guard let members = try? JSONDecoder().decode(Members.self, from: Data(json.utf8)) else { throw .notJSON }
        // A host with a trailing dot is the same host, but it gives another origin than the push
        // service expects.
        guard let endpoint = OutboundURL(members.endpoint), endpoint.isSecure, !endpoint.host.hasSuffix(".") else {
            throw .badEndpoint
        }
        guard
            let point = Base64.bytes(inAnySpelling: members.keys.p256dh.utf8), point.count == 65,
            let publicKey = try? P256.KeyAgreement.PublicKey(x963Representation: point)
        else { throw .badKey }
        guard let secret = Base64.bytes(inAnySpelling: members.keys.auth.utf8), secret.count == 16 else {
            throw .badSecret
        }
        self.endpoint = endpoint
        self.publicKey = publicKey
        self.secret = secret
    }

    /// The same subscription in the canonical spelling, which the store saves and compares.
    package var canonical: String {
        // The endpoint's grammar allows no character that JSON would escape.
        let key = Base64.url.text(of: self.publicKey.x963Representation)
        let secret = Base64.url.text(of: self.secret)
        return "{\"endpoint\":\"\(self.endpoint.text)\",\"keys\":{\"p256dh\":\"\(key)\",\"auth\":\"\(secret)\"}}"
    }

    /// The audience that the push service expects in our token, RFC 8292 section 2; without the
    /// default port.
    var origin: String {
        let port = self.endpoint.port == 443 ? "" : ":\(self.endpoint.port)"
        return "https://\(self.endpoint.host)\(port)"
    }
}

internal import Bytes
internal import Cryptography
package import CurlHTTP
internal import Foundation

/// The subscription that a browser gives to a page (W3C Push API), as
/// `JSON.stringify(subscription)` writes it.
package struct WebPushSubscription: Sendable {
    /// The reason why a text is not a subscription, worded as the end of a sentence that begins
    /// with the handle.
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

    /// The URL for pushes. It is secret: whoever knows it can send pushes to the browser.
    package let endpoint: OutboundURL
    /// The browser's public key, 65 bytes.
    let publicKey: P256.KeyAgreement.PublicKey
    /// The authentication secret of the browser: the member `auth`.
    let secret: [UInt8]

    private struct Members: Decodable {
        struct Keys: Decodable {
            let p256dh: String
            let auth: String
        }

        let endpoint: String
        let keys: Keys
    }

    /// Reads the JSON object; members that a subscription does not need are ignored.
    ///
    /// Throws `Flaw` if a member is missing or malformed.
    package init(_ json: String) throws(Flaw) {
        // The decoder's error is not passed on: it would not help the client, since the form of a
        // subscription is always the same.
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

    /// The subscription as JSON in the only spelling that the store saves and compares.
    package var canonical: String {
        // The endpoint's grammar allows no character that JSON would escape.
        let key = Base64.url.text(of: self.publicKey.x963Representation)
        let secret = Base64.url.text(of: self.secret)
        return "{\"endpoint\":\"\(self.endpoint.text)\",\"keys\":{\"p256dh\":\"\(key)\",\"auth\":\"\(secret)\"}}"
    }

    /// The audience that the push service expects in the server's token (RFC 8292 section 2); it
    /// lacks the port if the port is 443.
    var origin: String {
        let port = self.endpoint.port == 443 ? "" : ":\(self.endpoint.port)"
        return "https://\(self.endpoint.host)\(port)"
    }
}

internal import Bytes
internal import Foundation

/// A JWT in compact form, parsed but not yet verified.
struct JSONWebToken {
    struct Header: Decodable {
        let alg: String
        let kid: String?
    }

    let header: Header
    let claims: [UInt8]
    let signature: [UInt8]
    /// The signed text: the first two parts of the token, with the dot between them.
    let signedText: [UInt8]

    /// `nil` if the text is not three parts of unpadded base64url with a JSON header.
    init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard
            parts.count == 3,
            let header = Base64.url.bytes(in: parts[0]),
            let claims = Base64.url.bytes(in: parts[1]),
            let signature = Base64.url.bytes(in: parts[2]),
            // A header that cannot be decoded makes the token invalid; the cause does not matter.
            let decoded = try? JSONDecoder().decode(Header.self, from: Data(header))
        else { return nil }
        self.header = decoded
        self.claims = claims
        self.signature = signature
        self.signedText = Array(text.utf8.prefix(parts[0].count + 1 + parts[1].count))
    }

    /// The claims as `Claims`; `nil` if a claim is missing or has another type.
    func claims<Claims: Decodable>(as type: Claims.Type) -> Claims? {
        // The cause of a decoding error does not matter: in any case the token is refused.
        try? JSONDecoder().decode(type, from: Data(self.claims))
    }
}

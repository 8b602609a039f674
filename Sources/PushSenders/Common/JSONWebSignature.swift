internal import Foundation

/// The compact form of RFC 7515.
enum JSONWebSignature {
    /// `header` and `claims` are JSON; `sign` gets the bytes to sign and returns the signature as JOSE wants it.
    static func compact<Failure: Error>(
        header: String,
        claims: String,
        sign: (Data) throws(Failure) -> Data
    ) throws(Failure) -> String {
        let text = self.base64URL(Data(header.utf8)) + "." + self.base64URL(Data(claims.utf8))
        return text + "." + self.base64URL(try sign(Data(text.utf8)))
    }

    static func base64URL(_ data: Data) -> String {
        data.base64EncodedString()
            .replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_")
            .replacingOccurrences(of: "=", with: "")
    }
}

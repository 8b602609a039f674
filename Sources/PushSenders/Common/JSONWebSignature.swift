internal import Bytes
internal import Foundation

/// Makes JSON Web Signatures in the compact form (RFC 7515).
enum JSONWebSignature {
    /// `header` and `claims` are JSON; `sign` receives the bytes to sign and returns the signature
    /// in the form that JOSE requires.
    static func compact<Failure: Error>(
        header: String,
        claims: String,
        sign: (Data) throws(Failure) -> Data
    ) throws(Failure) -> String {
        let text = Base64.url.text(of: header.utf8) + "." + Base64.url.text(of: claims.utf8)
        return text + "." + Base64.url.text(of: try sign(Data(text.utf8)))
    }
}

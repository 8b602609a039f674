import Bytes
import COpenSSL
import Foundation
import SocketTLS

@testable import PushSimulators

/// Tokens as providers make them, signed with OpenSSL.
enum Tokens {
    static let now = Date(timeIntervalSince1970: 1_800_000_000)

    /// Makes a JWT with this header and these claims, which are JSON texts.
    static func make(header: String, claims: String, sign: ([UInt8]) throws -> [UInt8]) rethrows -> String {
        let text = Base64.url.text(of: header.utf8) + "." + Base64.url.text(of: claims.utf8)
        return text + "." + Base64.url.text(of: try sign(Array(text.utf8)))
    }

    /// Makes a valid APNs provider token.
    static func provider(of apns: APNsSimulator, issued: Date = .now) throws -> String {
        try self.make(
            header: #"{"alg":"ES256","kid":"\#(apns.credentials.keyID)"}"#,
            claims: #"{"iss":"\#(apns.credentials.teamID)","iat":\#(Int(issued.timeIntervalSince1970))}"#
        ) { try apns.key.signES256($0) }
    }
}

extension SigningKey {
    /// Returns the signature in the 64 bytes that RFC 7518 section 3.4 defines.
    func signES256(_ message: [UInt8]) throws -> [UInt8] {
        let der = try self.sign(message)
        let pair = try OpenSSLError.check(
            "d2i_ECDSA_SIG",
            der.withUnsafeBufferPointer { bytes in
                var start = bytes.baseAddress
                return d2i_ECDSA_SIG(nil, &start, der.count)
            }
        )
        defer { ECDSA_SIG_free(pair) }
        var raw = [UInt8](repeating: 0, count: 64)
        raw.withUnsafeMutableBufferPointer { raw in
            _ = BN_bn2binpad(ECDSA_SIG_get0_r(pair), raw.baseAddress, 32)
            _ = BN_bn2binpad(ECDSA_SIG_get0_s(pair), raw.baseAddress.map { $0 + 32 }, 32)
        }
        return raw
    }

    /// Returns the signature in OpenSSL's own form: DER for a P-256 key, PKCS#1 version 1.5 for an
    /// RSA key.
    func sign(_ message: [UInt8]) throws -> [UInt8] {
        try self.withPointer { key in
            let context = try OpenSSLError.check("EVP_MD_CTX_new", EVP_MD_CTX_new())
            defer { EVP_MD_CTX_free(context) }
            try OpenSSLError.check("init", EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key))
            var signature = [UInt8](repeating: 0, count: 512)
            var count = signature.count
            try OpenSSLError.check("sign", EVP_DigestSign(context, &signature, &count, message, message.count))
            return Array(signature[..<count])
        }
    }
}

extension Tokens {
    /// Makes the assertion of a service account. The arguments replace the valid values.
    static func assertion(
        for verifier: AssertionVerifier,
        issued: Date,
        algorithm: String = "RS256",
        issuer: String? = nil,
        audience: String = AssertionVerifier.audience,
        scope: String = "https://www.googleapis.com/auth/firebase.messaging",
        life: Int = 3600
    ) throws -> String {
        let time = Int(issued.timeIntervalSince1970)
        return try self.make(
            header: #"{"alg":"\#(algorithm)","typ":"JWT","kid":"\#(verifier.keyID)"}"#,
            claims: #"{"iss":"\#(issuer ?? verifier.clientEmail)","scope":"\#(scope)","aud":"\#(audience)","#
                + #""iat":\#(time),"exp":\#(time + life)}"#
        ) { try verifier.key.sign($0) }
    }
}

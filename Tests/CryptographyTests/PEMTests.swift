import COpenSSL
import Foundation
import Testing

@testable import Cryptography

@Suite struct PEMTests {
    private static func text(_ path: String) throws -> String {
        String(decoding: try Vector.file("asymmetric/\(path)"), as: UTF8.self)
    }

    @Test(arguments: [
        "PKCS8/ec-consistent-curve.pem", "PKCS8/ec_private_key.pem", "PKCS8/ecc_private_with_rfc5915_ext.pem",
        "PEM_Serialization/ec_private_key.pem", "EC/high-bit-set.pem",
    ])
    func aKeyOnP256IsRead(path: String) throws {
        let text = try Self.text(path)
        let key = try P256.Signing.PrivateKey(pemRepresentation: text)
        let message = Data("text".utf8)
        #expect(key.publicKey.isValidSignature(try key.signature(for: message), for: message))
        for surrounded in [text + "\nmore", "Bag Attributes: <none>\n" + text, text.replacing("\n", with: "\r\n")] {
            let again = try P256.Signing.PrivateKey(pemRepresentation: surrounded)
            #expect(again.rawRepresentation == key.rawRepresentation)
        }
    }

    /// Files that are refused: other curves, other kinds of keys, public keys, encrypted keys,
    /// numbers above the order, and inconsistent keys.
    @Test(arguments: [
        "PKCS8/ec-inconsistent-curve.pem", "PKCS8/ec-invalid-private-scalar.pem", "PKCS8/ec_private_key_encrypted.pem",
        "PKCS8/ec_oid_not_in_reg_private_2.pkcs8.pem", "PKCS8/private.pem", "PKCS8/rsa_pss_2048.pem",
        "PKCS8/unenc-dsa-pkcs8.pem", "PKCS8/bad-oid-dsa-key.pem", "PEM_Serialization/ec_public_key.pem",
        "PEM_Serialization/ec_private_key_encrypted.pem", "PEM_Serialization/ec_public_key_rsa_delimiter.pem",
        "EC/ec-missing-curve.pem", "EC/secp128r1_private_key.pem", "EC/secp384r1-explicit-no-seed.pem",
        "EC/explicit_parameters_private_key.pem", "Ed25519/ed25519-pkcs8.pem",
        "Traditional_OpenSSL_Serialization/testrsa.pem",
    ])
    func pemWithoutAP256PrivateKeyIsRefused(path: String) throws {
        let text = try Self.text(path)
        #expect(throws: CryptoKitError.self) { try P256.Signing.PrivateKey(pemRepresentation: text) }
        #expect(ERR_peek_error() == 0)
    }

    @Test(arguments: [
        "", "text", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n",
        "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
        "-----BEGIN EC PRIVATE KEY-----\n\u{0}\n-----END EC PRIVATE KEY-----\n",
    ])
    func invalidPEMIsRefused(text: String) {
        #expect(throws: CryptoKitError.invalidParameter) { try P256.Signing.PrivateKey(pemRepresentation: text) }
        #expect(throws: CryptoKitError.invalidParameter) { try RSA.Signing.PrivateKey(pemRepresentation: text) }
        #expect(ERR_peek_error() == 0)
    }

    /// A damaged key may be read as the same key or as another key, or be rejected. It must never
    /// crash the process.
    @Test func damagedKeyIsReadSafelyOrRefused() throws {
        let key = P256.Signing.PrivateKey()
        let text = Array(key.pemRepresentation.utf8)
        for count in 0..<text.count - 1 {
            let cut = String(decoding: text.prefix(count), as: UTF8.self)
            let read = try? P256.Signing.PrivateKey(pemRepresentation: cut)
            #expect(read == nil || read?.rawRepresentation == key.rawRepresentation, "\(count)")
        }
        let body = try #require(
            Data(base64Encoded: String(decoding: text, as: UTF8.self).split(separator: "\n")[1...3].joined())
        )
        for bit in 0..<body.count * 8 {
            var changed = body
            changed[bit / 8] ^= 1 << (bit % 8)
            let read = try? P256.Signing.PrivateKey(pemRepresentation: Self.pem(changed))
            let message = Data([UInt8(bit & 0xFF)])
            if let read { #expect(read.publicKey.isValidSignature(try read.signature(for: message), for: message)) }
        }
        #expect(ERR_peek_error() == 0)
    }

    @Test func writtenPEMIsReadAgain() throws {
        let key = P256.Signing.PrivateKey()
        let text = key.pemRepresentation
        #expect(text.hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
        #expect(text.hasSuffix("\n-----END PRIVATE KEY-----"))
        #expect(try P256.Signing.PrivateKey(pemRepresentation: text).rawRepresentation == key.rawRepresentation)
        let publicText = key.publicKey.pemRepresentation
        #expect(publicText.hasPrefix("-----BEGIN PUBLIC KEY-----\n"))
        let body = try #require(Data(base64Encoded: publicText.split(separator: "\n")[1...2].joined()))
        #expect(body.suffix(65) == key.publicKey.x963Representation)
    }

    /// RFC 7468 demands 64 characters on a line, but tools and secret stores write lines of other
    /// lengths.
    @Test(arguments: [
        ("\n", 100_000), ("\n", 76), ("\r\n", 64), (" \n", 64), ("\n", 1),
    ])
    func linesOfAnyLengthAreRead(end: String, length: Int) throws {
        func wrapped(_ pem: String) throws -> String {
            let lines = pem.split(separator: "\n")
            let body = Array(lines.dropFirst().dropLast().joined())
            let parts = stride(from: 0, to: body.count, by: length).map { String(body[$0...].prefix(length)) }
            return try ([String(#require(lines.first))] + parts + [String(#require(lines.last))]).joined(separator: end)
        }
        let key = P256.Signing.PrivateKey()
        let read = try P256.Signing.PrivateKey(pemRepresentation: wrapped(key.pemRepresentation))
        #expect(read.rawRepresentation == key.rawRepresentation)
        let text = try Self.text("Traditional_OpenSSL_Serialization/testrsa.pem")
        let rsa = try RSA.Signing.PrivateKey(pemRepresentation: text)
        let other = try RSA.Signing.PrivateKey(pemRepresentation: wrapped(rsa.pemRepresentation))
        #expect(other.pemRepresentation == rsa.pemRepresentation)
    }

    static func pem(_ der: Data) -> String {
        "-----BEGIN PRIVATE KEY-----\n\(der.base64EncodedString(options: .lineLength64Characters))\n"
            + "-----END PRIVATE KEY-----\n"
    }
}

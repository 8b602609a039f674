import Bytes
import Foundation
import HTTPSignatures
import PushAPI
import PushCore
import PushServer

/// The keys of the test vectors. They are public constants, so never use them anywhere else.
enum VectorKeys {
    /// The seed of the key that the server signs with.
    static let seed = Data(repeating: 0x5E, count: 32)
    /// The seed of a key that clients do not pin.
    static let otherSeed = Data(repeating: 0x07, count: 32)
    /// The nonce of all requests with a nonce.
    static let nonce = Base64.url.text(of: "128 random bits.".utf8)
    static let now = Date(timeIntervalSince1970: 1_800_000_000)

    static func signing() throws -> SigningKey { try SigningKey(rawRepresentation: self.seed) }
    static func other() throws -> SigningKey { try SigningKey(rawRepresentation: self.otherSeed) }

    static func set(_ seed: Data = Self.seed) throws -> SigningKeys {
        SigningKeys(try SigningKeySet(text: "1 \(seed.base64EncodedString())\n"))
    }

    /// Makes the text of a keyring from one repeated byte. The server derives ids, cursors and
    /// entity tags from its keyring.
    static func keyring(_ byte: UInt8) -> String {
        "1 \(Data(repeating: byte, count: 32).base64EncodedString())\n"
    }

    /// `keys.json`: the keys of the vectors, and the values of `Accept-Signature`.
    static func file() throws -> JSONValue {
        .members(
            ("pinned", Self.json(try self.signing(), self.seed)),
            ("unknown", Self.json(try self.other(), self.otherSeed)),
            ("acceptSignature", .string(try self.acceptSignature(.account))),
            ("nonce", .string(self.nonce)),
            ("acceptSignatureWithNonce", .string(try self.acceptSignature(.account, nonce: self.nonce))),
            ("acceptSignatureBefore", .string(try self.acceptSignature(.exchange))),
            (
                "acceptSignatureOfEither",
                .string(try self.acceptSignature(.account, otherwise: .exchange, nonce: self.nonce))
            ),
            ("toleranceSeconds", .number(300))
        )
    }

    static func acceptSignature(
        _ coverage: SignatureCoverage,
        otherwise: SignatureCoverage? = nil,
        nonce: String? = nil
    ) throws -> String {
        ResponseVerifier.acceptSignature(
            keyID: try self.signing().id,
            coverage: coverage,
            otherwise: otherwise,
            nonce: nonce
        )
    }

    private static func json(_ key: SigningKey, _ seed: Data) -> JSONValue {
        .members(
            ("keyid", .string(key.id)),
            ("publicKey", .string(key.publicKey.base64URL)),
            ("seedHex", .string(seed.map { String(format: "%02x", $0) }.joined()))
        )
    }
}

internal import Bytes
internal import Foundation

#if canImport(CryptoKit)
    internal import CryptoKit
#else
    internal import Cryptography
#endif

/// The field `Content-Digest` (RFC 9530): the SHA-256 of the content as it is sent.
public enum ContentDigest {
    static let fieldName = "content-digest"
    private static let algorithm = "sha-256"

    /// The field's value: `sha-256=:…:`.
    public static func field(of body: some Sequence<UInt8>) -> String {
        self.field(hash: self.hash(of: body))
    }

    /// Whether the field has the body's SHA-256. Digests of other kinds in the field are ignored.
    ///
    /// A field that is unreadable, or has no or several SHA-256 digests, does not match.
    public static func matches(field: String, body: some Sequence<UInt8>) -> Bool {
        guard let expected = try? self.hash(in: [field]) else { return false }  // For whatever reason.
        return expected == self.hash(of: body)
    }

    static func field(hash: [UInt8]) -> String {
        "\(self.algorithm)=:\(Base64.standard.text(of: hash)):"
    }

    static func hash(of body: some Sequence<UInt8>) -> [UInt8] {
        let done = body.withContiguousStorageIfAvailable { Array(SHA256.hash(data: UnsafeRawBufferPointer($0))) }
        return done ?? Array(SHA256.hash(data: Array(body)))
    }

    static func hash(in lines: [String]) throws(SignatureFailure) -> [UInt8] {
        let dictionary = try StructuredFieldParser.dictionary(lines, of: self.fieldName)
        guard let member = dictionary[self.algorithm] else {
            throw SignatureFailure(.missing, "the digest has no \(self.algorithm)")
        }
        guard !dictionary.hasRepeated(self.algorithm) else {
            throw SignatureFailure(.duplicate, "the digest has more than one \(self.algorithm)")
        }
        guard case .item(let item) = member, case .bytes(let hash) = item.value, hash.count == SHA256.byteCount else {
            throw SignatureFailure(.malformed, "the digest's \(self.algorithm) is none")
        }
        return hash
    }
}

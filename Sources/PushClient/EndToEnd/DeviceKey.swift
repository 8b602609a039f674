internal import Bytes
internal import Foundation

#if canImport(CryptoKit)
    internal import CryptoKit
#else
    internal import Cryptography
#endif

/// The public keys of a device for end-to-end encryption, as the device has registered them.
public struct DeviceKey: Sendable, Hashable {
    /// The keys as the server stores them: a text with the device's public keys and the approvals
    /// by other devices.
    public let text: String
    /// The identifier of the account that the device belongs to.
    public let account: String
    /// The id of these keys. In a payload, it precedes the content key that is encrypted for this
    /// device.
    public let id: String
    let body: String
    let agreement: [UInt8]

    /// Reads the keys from the server's text. Throws if the text is malformed, or the device's own
    /// signature in it is wrong.
    public init(_ text: String) throws(UnreadablePayload) {
        let parts =
            text.utf8.count <= 2048
            ? text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false) : []
        guard parts.count == 8, parts[0].elementsEqual("sealpost-key".utf8), parts[1].elementsEqual("1".utf8),
            parts[2].count == Self.idLength, EndToEndText.time(parts[5]) != nil,
            parts[7].count.isMultiple(of: Self.idLength + 86),
            let signing = EndToEndText.bytes(parts[3], count: 65),
            let agreement = EndToEndText.bytes(parts[4], count: 65),
            let signature = EndToEndText.bytes(parts[6], count: 64),
            let key = try? P256.Signing.PublicKey(x963Representation: signing),
            (try? P256.KeyAgreement.PublicKey(x963Representation: agreement)) != nil
        else { throw .malformed }
        self.text = text
        self.account = EndToEndText.string(parts[2])
        self.body = parts[..<6].map(EndToEndText.string).joined(separator: ".")
        self.agreement = agreement
        self.id = EndToEndText.id(of: Array(self.body.utf8))
        // An unreadable signature counts as a wrong one.
        guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature),
            key.isValidSignature(signature, for: Array("sealpost-own\n\(self.body)".utf8))
        else { throw .signature }
    }

    /// A digest of the keys in 30 digits, which people can compare on two screens.
    public var fingerprint: String {
        let digest = Array(SHA256.hash(data: Array("sealpost-fingerprint\n\(self.body)".utf8)))
        return stride(from: 0, to: 30, by: 5).map { start in
            let number = digest[start..<start + 5].reduce(UInt64(0)) { $0 << 8 | UInt64($1) } % 100_000
            let digits = String(number)
            return String(repeating: "0", count: 5 - digits.count) + digits
        }.joined(separator: " ")
    }

    static let idLength = 22
}

/// Reads and makes the texts that are parts of end-to-end payloads and device keys.
enum EndToEndText {
    /// The bytes of a text in base64url. `nil` if the text is not base64url in its canonical form,
    /// or does not have `count` bytes.
    static func bytes(_ text: Substring.UTF8View, count: Int? = nil) -> [UInt8]? {
        guard let bytes = Base64.url.bytes(in: text), count.map({ $0 == bytes.count }) != false else { return nil }
        return Array(bytes)
    }

    /// A number of seconds since 1970. `nil` unless the text has up to ten digits without leading
    /// zeros.
    static func time(_ text: Substring.UTF8View) -> Int? {
        guard (1...10).contains(text.count), text.allSatisfy(\.isDigit),
            text.count == 1 || text.first != UInt8(ascii: "0")
        else { return nil }
        return Int(self.string(text))
    }

    static func string(_ text: Substring.UTF8View) -> String { String(decoding: text, as: UTF8.self) }

    static func id(of value: [UInt8]) -> String { Base64.url.text(of: SHA256.hash(data: value).prefix(16)) }
}

internal import Bytes
internal import Cryptography
internal import Foundation

/// The text of a device's public keys (`docs/end-to-end.md`). The server does not check whether
/// the account's user has the private keys. It only refuses a text that no sender of a
/// notification could use.
package enum DeviceKeyText {
    /// The length of the longest text, which has room for eight approvals and for longer keys.
    package static let maximumLength = 2048
    /// The length of an approval, which consists of the id of a device key and of a signature in
    /// base64url.
    private static let approvalLength = EndToEndPayload.idLength + 86

    /// The reason why no sender can use the text for a device of the account; `nil` if it is a
    /// device key of this account.
    package static func fault(in text: String, ofAccount account: String) -> String? {
        let parts =
            text.utf8.count <= self.maximumLength
            ? text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false) : []
        guard parts.count == 8, parts[0].elementsEqual("sealpost-key".utf8), parts[1].elementsEqual("1".utf8),
            parts[2].count == EndToEndPayload.idLength, EndToEndPayload.isTime(parts[5]),
            parts[7].count.isMultiple(of: self.approvalLength),
            parts[2].allSatisfy(EndToEndPayload.isBase64URL), parts[7].allSatisfy(EndToEndPayload.isBase64URL),
            let signing = self.bytes(parts[3], count: 65), let agreement = self.bytes(parts[4], count: 65),
            let own = self.bytes(parts[6], count: 64)
        else {
            return
                "does not have the form sealpost-key.1.ACCOUNT.SIGNING.AGREEMENT.TIME.OWN.APPROVALS with at most \(self.maximumLength) characters"
        }
        // The error of the initializer is ignored, since the returned reason is the same for both
        // keys.
        guard let key = try? P256.Signing.PublicKey(x963Representation: signing),
            (try? P256.Signing.PublicKey(x963Representation: agreement)) != nil
        else { return "has a public key that is not a point on the curve P-256" }
        let body = text.utf8[..<parts[5].endIndex]
        // This initializer throws only for a wrong length, which was refused above.
        guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: own),
            key.isValidSignature(signature, for: Array("sealpost-own\n".utf8) + body)
        else { return "has a wrong signature in the place of OWN" }
        guard parts[2].elementsEqual(account.utf8) else { return "is of another account than the caller's, \(account)" }
        return nil
    }

    private static func bytes(_ text: Substring.UTF8View, count: Int) -> [UInt8]? {
        guard let bytes = Base64.url.bytes(in: text), bytes.count == count else { return nil }
        return bytes
    }
}

import Bytes
import Cryptography
import Foundation

/// The text of a device key with parts that tests may replace.
struct DeviceKeyFixture {
    private static let pair = P256.Signing.PrivateKey()
    static let point = Base64.url.text(of: pair.publicKey.x963Representation)
    /// Empty, which no test accepts, if libcrypto does not sign.
    static let text = (try? Self().signed()) ?? ""

    var start = "sealpost-key.1"
    var account = String(repeating: "A", count: 22)
    var signing = Self.point
    var agreement = Self.point
    var time = "1795000000"
    var approvals = ""

    /// The text with the device's own signature.
    func signed() throws -> String {
        let body = [self.start, self.account, self.signing, self.agreement, self.time].joined(separator: ".")
        let signature = try Self.pair.signature(for: Data("sealpost-own\n\(body)".utf8)).rawRepresentation
        return "\(body).\(Base64.url.text(of: signature)).\(self.approvals)"
    }
}

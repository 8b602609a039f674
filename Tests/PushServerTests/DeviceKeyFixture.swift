import Bytes
import Cryptography
import Foundation
import PushCore
import PushStore
import PushTesting

@testable import PushServer

/// Makes the text of a device key. A test may replace any part of the text.
struct DeviceKeyFixture {
    private static let pair = P256.Signing.PrivateKey()
    static let point = Base64.url.text(of: pair.publicKey.x963Representation)

    var start = "sealpost-key.1"
    var account = String(repeating: "A", count: 22)
    var signing = Self.point
    var agreement = Self.point
    var time = "1795000000"
    var approvals = ""

    /// Returns the key's text, signed with the device's own private key.
    func signed() throws -> String {
        let body = [self.start, self.account, self.signing, self.agreement, self.time].joined(separator: ".")
        let signature = try Self.pair.signature(for: Data("sealpost-own\n\(body)".utf8)).rawRepresentation
        return "\(body).\(Base64.url.text(of: signature)).\(self.approvals)"
    }
}

extension ServerFixture {
    /// The body of a request that sets a device key of the user's account.
    func deviceKeyBody(of user: String) async throws -> String {
        let number = try await self.storage.user(user).id
        let account = AccountIDs(secret: self.storage.store.indexSecret).id(ofUser: number).text
        return #"{"Key":"\#(try DeviceKeyFixture(account: account).signed())"}"#
    }
}

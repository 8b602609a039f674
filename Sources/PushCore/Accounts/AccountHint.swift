internal import Bytes
internal import Cryptography
internal import Foundation

/// A hint in a push to a device that several accounts share: the device can find out which account
/// the push is for. The hint reveals nothing to anybody else.
///
/// The hint is an HMAC of the notification's id. The key of the HMAC is the registration id, which
/// only the server and the account's app know. Nobody else can find out whether two pushes are for
/// the same account, or whether a push is for a guessed account.
package struct AccountHint: Sendable, Hashable, CustomStringConvertible {
    /// The number of characters of `description`.
    package static let length = 11

    /// The hint: 64 bits in base64url.
    package let description: String

    package init(_ notification: NotificationID, of registration: RegistrationID) {
        self.description = Base64.url.text(of: Self.code("hint \(notification)", registration).prefix(8))
    }

    /// The collapse id of a push to one account, which is derived from the collapse id `shared`:
    /// 32 characters of base64url.
    static func collapseID(_ shared: String, of registration: RegistrationID) -> String {
        Base64.url.text(of: self.code("collapse \(shared)", registration).prefix(24))
    }

    private static func code(_ text: String, _ registration: RegistrationID) -> [UInt8] {
        let key = SymmetricKey(data: Array(registration.description.utf8))
        return Array(HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: key))
    }
}

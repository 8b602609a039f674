internal import Bytes
internal import Cryptography
package import Foundation

/// A code that the server pushes to a handle. A user who returns the code has proved that the
/// handle belongs to a device of the user.
///
/// The code has 128 bits, written in hexadecimal. Nothing stores a code: `ConfirmationCodes`
/// computes it for each attempt to push it, and again when a user returns it.
package struct ConfirmationCode: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible {
    static let length = 16

    /// The text of the code, for the push.
    package let exposed: String

    /// Whether a text is the code; the comparison takes the same time wherever the texts differ.
    package func matches(_ text: String) -> Bool {
        SHA256.hash(data: Data(self.exposed.utf8)) == SHA256.hash(data: Data(text.utf8))
    }

    package var description: String { "<secret>" }
    package var debugDescription: String { "<secret>" }
}

/// Computes codes with a key that is not in the database, so that the database alone does not
/// reveal the codes.
package struct ConfirmationCodes: Sendable {
    private let hash: KeyedHash

    package init(_ secret: IndexSecret) {
        self.hash = KeyedHash(key: secret.derive("confirmation code"))
    }

    /// The code that a notification carries to a handle, so that a user can confirm the handle.
    /// `seed` is the notification's random seed, and `claim` the keyed hash of the user and the
    /// handle.
    package func code(of notification: Int64, seed: Int64, claim: Data) -> ConfirmationCode {
        let code = self.hash.code { hash in
            withUnsafeBytes(of: (notification.bigEndian, seed.bigEndian)) { hash.update(bufferPointer: $0) }
            hash.update(data: claim)
        }
        return ConfirmationCode(exposed: Hexadecimal.text(of: code.prefix(ConfirmationCode.length)))
    }
}

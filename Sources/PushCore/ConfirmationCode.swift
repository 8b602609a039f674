internal import Bytes
internal import Cryptography
package import Foundation

/// A code that is pushed to a handle, and that the user returns to prove that the handle is its
/// own.
///
/// 128 bits in hexadecimal. Nothing stores a code: `ConfirmationCodes` computes it for each
/// attempt to push it, and again when it is returned.
package struct ConfirmationCode: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible {
    static let length = 16

    /// The code itself, for the push.
    package let exposed: String

    /// Whether a text is the code; the comparison takes the same time wherever the texts differ.
    package func matches(_ text: String) -> Bool {
        SHA256.hash(data: Data(self.exposed.utf8)) == SHA256.hash(data: Data(text.utf8))
    }

    package var description: String { "<secret>" }
    package var debugDescription: String { "<secret>" }
}

/// Computes codes under a separate key, so that the database alone does not reveal them.
package struct ConfirmationCodes: Sendable {
    private let hash: KeyedHash

    package init(_ secret: IndexSecret) {
        self.hash = KeyedHash(key: secret.derive("confirmation code"))
    }

    /// The code that a notification carries to a handle that its user must confirm. `seed` is the
    /// notification's random seed, and `claim` the keyed hash of the user and the handle.
    package func code(of notification: Int64, seed: Int64, claim: Data) -> ConfirmationCode {
        let code = self.hash.code { hash in
            withUnsafeBytes(of: (notification.bigEndian, seed.bigEndian)) { hash.update(bufferPointer: $0) }
            hash.update(data: claim)
        }
        return ConfirmationCode(exposed: Hexadecimal.text(of: code.prefix(ConfirmationCode.length)))
    }
}

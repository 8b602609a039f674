internal import CArgon2
internal import Foundation

/// A password as it is stored: Argon2id in the PHC string format.
///
/// Making and checking one costs 19 MiB and tens of milliseconds of a core: never on an event loop.
package struct PasswordHash: Sendable, Hashable {
    /// The shortest and the longest password, in bytes of UTF-8.
    package static let passwordLength = 8...256

    /// OWASP's first choice: 19 MiB, two passes, one lane.
    private static let memory: UInt32 = 19_456
    private static let passes: UInt32 = 2
    private static let lanes: UInt32 = 1
    private static let saltLength = 16
    private static let hashLength = 32

    package let phc: String

    /// Takes a stored hash as it is.
    package init(phc: String) {
        self.phc = phc
    }

    /// Hashes with a fresh random salt. Throws `PasswordError` if the length is out of bounds, or if it has control
    /// characters, with which nobody could sign in (RFC 7617 section 2).
    package init(of password: String) throws(PasswordError) {
        let bytes = Array(password.utf8)
        guard Self.passwordLength.contains(bytes.count) else { throw .length }
        guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { throw .controlCharacter }
        var generator = SystemRandomNumberGenerator()
        let salt = (0..<Self.saltLength).map { _ in UInt8.random(in: 0 ... .max, using: &generator) }
        let length = argon2_encodedlen(
            Self.passes,
            Self.memory,
            Self.lanes,
            UInt32(Self.saltLength),
            UInt32(Self.hashLength),
            Argon2_id
        )
        var encoded = [CChar](repeating: 0, count: length)
        let result = argon2id_hash_encoded(
            Self.passes,
            Self.memory,
            Self.lanes,
            bytes,
            bytes.count,
            salt,
            salt.count,
            Self.hashLength,
            &encoded,
            length
        )
        guard result == ARGON2_OK.rawValue else { throw .failed(code: result) }
        self.phc = String(decoding: encoded.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Whether this is the password; a hash that cannot be read is nobody's.
    package func matches(_ password: String) -> Bool {
        let bytes = Array(password.utf8)
        guard bytes.count <= Self.passwordLength.upperBound else { return false }
        return argon2id_verify(self.phc, bytes, bytes.count) == ARGON2_OK.rawValue
    }
}

/// Why a password cannot be hashed.
package enum PasswordError: Error, Hashable, CustomStringConvertible {
    case length
    case controlCharacter
    case failed(code: Int32)

    package var description: String {
        switch self {
        case .length:
            "a password has \(PasswordHash.passwordLength.lowerBound) to \(PasswordHash.passwordLength.upperBound) bytes"
        case .controlCharacter: "a password has no control characters"
        case .failed(let code): "argon2 failed with code \(code)"
        }
    }
}

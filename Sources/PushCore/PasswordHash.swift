internal import Bytes
internal import CArgon2

/// A stored password: Argon2id (RFC 9106) in the PHC string format.
///
/// Hashing or checking a password needs as much memory and time as the parameters say, usually 19
/// MiB and tens of milliseconds of a core. It must never run on an event loop.
package struct PasswordHash: Sendable, Hashable {
    /// The longest password, in bytes of UTF-8.
    package static let maximumLength = 256

    /// The shortest password, in Unicode scalars: bytes are not counted, because three letters
    /// that take eight bytes are no stronger than three ASCII letters.
    fileprivate static let minimumCharacters = 8

    private static let saltLength = 16
    private static let digestLength = 32

    package let phc: String

    /// Makes a hash from its stored text, without a check of the text.
    package init(phc: String) {
        self.phc = phc
    }

    /// Hashes with a new random salt. The password is used byte for byte.
    ///
    /// Throws `PasswordError` if the length is outside the limits, or if the password has control
    /// characters, with which a user could not sign in (RFC 7617 section 2).
    package init(
        of password: String,
        parameters: PasswordParameters = .usual
    ) throws(PasswordError) {
        let bytes = Array(password.utf8)
        guard password.unicodeScalars.count >= Self.minimumCharacters, bytes.count <= Self.maximumLength else {
            throw .length
        }
        guard bytes.allSatisfy({ !$0.isControl }) else { throw .controlCharacter }
        let salt = Self.random(Self.saltLength)
        let digest = try Self.digest(of: bytes, salt: salt, parameters: parameters, length: Self.digestLength)
        self.phc = PHCString(parameters: parameters, salt: salt, digest: digest).description
    }

    /// Hashes a password that a person has chosen for the user `name`. Throws `PasswordError` for
    /// the same reasons as `init(of:parameters:)`, and if the password is common or equals `name`.
    package init(
        of password: String,
        chosenFor name: Username,
        parameters: PasswordParameters
    ) throws(PasswordError) {
        guard password.utf8.count <= Self.maximumLength else { throw .length }
        let lowercased = password.lowercased()
        guard lowercased != name.key else { throw .name }
        guard !CommonPasswords.contains(lowercased) else { throw .tooCommon }
        try self.init(of: password, parameters: parameters)
    }

    /// Makes a hash that no known password matches. A check against this hash costs as much as the
    /// parameters say.
    package static func decoy(_ parameters: PasswordParameters) -> PasswordHash {
        let phc = PHCString(
            parameters: parameters,
            salt: Self.random(Self.saltLength),
            digest: Self.random(Self.digestLength)
        )
        return PasswordHash(phc: phc.description)
    }

    /// The stored hash of a user without a password: its digest is all zeros, which no password
    /// gives. A check against this hash costs as much as the parameters say, so that its duration
    /// does not reveal that the user has no password.
    package static func none(_ parameters: PasswordParameters) -> PasswordHash {
        let phc = PHCString(
            parameters: parameters,
            salt: Self.random(Self.saltLength),
            digest: [UInt8](repeating: 0, count: Self.digestLength)
        )
        return PasswordHash(phc: phc.description)
    }

    /// Whether the user has no password.
    package var isNone: Bool { PHCString(self.phc)?.digest.allSatisfy { $0 == 0 } == true }

    /// Whether `password` is the password of the hash. No password matches a hash that is
    /// malformed or whose parameters are outside the limits.
    ///
    /// A text that is too long for a password is refused before anything is hashed.
    package func matches(_ password: String) -> Bool {
        let bytes = Array(password.utf8)
        guard bytes.count <= Self.maximumLength, let stored = PHCString(self.phc) else { return false }
        do throws(PasswordError) {
            let digest = try Self.digest(
                of: bytes,
                salt: stored.salt,
                parameters: stored.parameters,
                length: stored.digest.count
            )
            // The comparison takes constant time, so the duration does not reveal where the two
            // hashes differ.
            return zip(digest, stored.digest).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
        } catch {
            return false
        }
    }

    /// The cost of a check against the hash; `nil` if the hash is malformed.
    package var parameters: PasswordParameters? { PHCString(self.phc)?.parameters }

    /// Whether the hash is weaker than a new hash with these parameters; `false` if the hash is
    /// malformed.
    package func needsRehash(for parameters: PasswordParameters) -> Bool {
        guard let stored = PHCString(self.phc) else { return false }
        return stored.parameters.isBelow(parameters) || stored.salt.count < Self.saltLength
            || stored.digest.count < Self.digestLength
    }

    // MARK: - Private

    private static func random(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: 0 ... .max, using: &generator) }
    }

    private static func digest(
        of password: [UInt8],
        salt: [UInt8],
        parameters: PasswordParameters,
        length: Int
    ) throws(PasswordError) -> [UInt8] {
        var (password, salt) = (password, salt)
        var digest = [UInt8](repeating: 0, count: length)
        let result = password.withUnsafeMutableBufferPointer { password in
            salt.withUnsafeMutableBufferPointer { salt in
                digest.withUnsafeMutableBufferPointer { digest in
                    var context = argon2_context()
                    (context.pwd, context.pwdlen) = (password.baseAddress, UInt32(password.count))
                    (context.salt, context.saltlen) = (salt.baseAddress, UInt32(salt.count))
                    (context.out, context.outlen) = (digest.baseAddress, UInt32(digest.count))
                    context.m_cost = UInt32(parameters.memory)
                    context.t_cost = UInt32(parameters.passes)
                    context.lanes = UInt32(parameters.lanes)
                    // One thread is enough: the number of lanes changes the result, but the number
                    // of threads does not.
                    context.threads = 1
                    context.version = UInt32(ARGON2_VERSION_13.rawValue)
                    context.allocate_cbk = { memory, size in
                        memory?.pointee = Argon2Memory.take(size)
                        return memory?.pointee == nil ? ARGON2_MEMORY_ALLOCATION_ERROR.rawValue : ARGON2_OK.rawValue
                    }
                    context.free_cbk = { memory, size in if let memory { Argon2Memory.giveBack(memory, size) } }
                    return argon2_ctx(&context, Argon2_id)
                }
            }
        }
        guard result == ARGON2_OK.rawValue else { throw .failed(code: result) }
        return digest
    }
}

/// The reason why a password cannot be hashed.
package enum PasswordError: Error, Hashable, CustomStringConvertible {
    case length
    case controlCharacter
    /// The password is in `CommonPasswords`.
    case tooCommon
    /// The password is the user's own name.
    case name
    case failed(code: Int32)

    package var description: String {
        switch self {
        case .length:
            """
            a password must have at least \(PasswordHash.minimumCharacters) characters and at most \
            \(PasswordHash.maximumLength) bytes
            """
        case .controlCharacter: "a password must not contain control characters"
        case .tooCommon: "this password is too common"
        case .name: "a password must not be the user name"
        case .failed(let code): "argon2 failed with code \(code)"
        }
    }
}

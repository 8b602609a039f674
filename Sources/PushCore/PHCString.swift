internal import Bytes
internal import Foundation

/// The only form of stored password hashes: `$argon2id$v=19$m=19456,t=2,p=1$<salt>$<digest>`.
///
/// The text is read strictly: it must have these parameters in this order, decimal numbers without
/// leading zeros, and base64 without padding or spare bits. So two different texts are never the
/// same hash.
struct PHCString: Sendable, Hashable, CustomStringConvertible {
    /// The lengths of a salt in bytes: the limits of the PHC string format for Argon2.
    private static let saltLength = 8...48
    private static let digestLength = 12...64
    /// A text with more bytes than this is never valid.
    private static let maximumLength = 256

    let parameters: PasswordParameters
    let salt: [UInt8]
    let digest: [UInt8]

    init(parameters: PasswordParameters, salt: [UInt8], digest: [UInt8]) {
        self.parameters = parameters
        self.salt = salt
        self.digest = digest
    }

    /// Returns `nil` for a text in any other form, and for parameters outside the limits of
    /// `PasswordParameters`.
    init?(_ text: String) {
        guard text.utf8.count <= Self.maximumLength else { return nil }
        let parts = Array(text.utf8).split(separator: UInt8(ascii: "$"), omittingEmptySubsequences: false)
        guard
            parts.count == 6, parts[0].isEmpty, parts[1].elementsEqual("argon2id".utf8),
            parts[2].elementsEqual("v=19".utf8), let parameters = Self.parameters(parts[3]),
            let salt = Base64.unpadded.bytes(in: parts[4]), Self.saltLength.contains(salt.count),
            let digest = Base64.unpadded.bytes(in: parts[5]), Self.digestLength.contains(digest.count)
        else { return nil }
        self.init(parameters: parameters, salt: salt, digest: digest)
    }

    var description: String {
        "$argon2id$v=19$\(self.parameters)$\(Base64.unpadded.text(of: self.salt))$\(Base64.unpadded.text(of: self.digest))"
    }

    // MARK: - Private

    private static func parameters(_ text: ArraySlice<UInt8>) -> PasswordParameters? {
        let parts = text.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        guard
            parts.count == 3, let memory = Self.number(parts[0], named: "m"),
            let passes = Self.number(parts[1], named: "t"), let lanes = Self.number(parts[2], named: "p")
        else { return nil }
        return PasswordParameters(memory: memory, passes: passes, lanes: lanes)
    }

    /// Reads at most seven digits, as many as the largest allowed parameter has.
    private static func number(_ text: ArraySlice<UInt8>, named name: String) -> Int? {
        let digits = text.dropFirst(2)
        guard
            text.starts(with: "\(name)=".utf8), (1...7).contains(digits.count), digits.first != UInt8(ascii: "0"),
            digits.allSatisfy(\.isDigit)
        else { return nil }
        return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }
}

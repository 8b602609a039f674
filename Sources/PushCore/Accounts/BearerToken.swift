internal import Bytes

/// A generated secret that authenticates a user and is never stored. It consists of `spt_`, 36
/// random letters and digits, and a checksum of 6 characters.
///
/// The token has 214 random bits; 166 of them stay secret if the first eight random characters are
/// shown. The prefix and the checksum let scanners recognise a token that was published by
/// accident, and let the server refuse a malformed token without a database lookup.
package struct BearerToken: Sendable {
    /// The shortest and the longest lifetime: at most a year, since the people who know of a token
    /// may leave without revoking it.
    package static let lifetime = Duration.seconds(1)...Duration.seconds(31_536_000)

    fileprivate static let start = "spt_"
    private static let randomLength = 36
    private static let checksumLength = 6
    private static let digits = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

    package let text: Secret<String>
    /// The part of the token that lists and logs may show.
    package let prefix: TokenPrefix

    package static func random() -> BearerToken {
        var generator = SystemRandomNumberGenerator()
        let random = (0..<Self.randomLength).map { _ in
            Self.digits[Int.random(in: 0..<Self.digits.count, using: &generator)]
        }
        let body = Array(Self.start.utf8) + random
        guard let token = BearerToken(String(decoding: body + Self.checksum(of: body), as: UTF8.self)) else {
            preconditionFailure("a token that was made here is one")
        }
        return token
    }

    /// Returns `nil` unless the text has the form of a token and the right checksum.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        let bodyLength = Self.start.utf8.count + Self.randomLength
        guard
            bytes.count == bodyLength + Self.checksumLength,
            bytes.suffix(Self.checksumLength).elementsEqual(Self.checksum(of: bytes.prefix(bodyLength))),
            let prefix = TokenPrefix(String(text.prefix(TokenPrefix.length))),
            bytes.dropFirst(TokenPrefix.length).allSatisfy(\.isLetterOrDigit)
        else { return nil }
        self.text = Secret(text)
        self.prefix = prefix
    }

    /// The token's hash, which the database stores in place of the token. A plain hash is enough
    /// for a secret that cannot be guessed.
    package var fingerprint: Fingerprint { Fingerprint(of: self.text.exposed[...]) }

    /// CRC-32 (ISO 3309, as in gzip) in base 62, the most significant digit first.
    private static func checksum(of bytes: some Sequence<UInt8>) -> [UInt8] {
        var crc = UInt32.max
        for byte in bytes {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
        }
        var rest = Int(~crc)
        var checksum: [UInt8] = []
        for _ in 0..<Self.checksumLength {
            checksum.append(Self.digits[rest % Self.digits.count])
            rest /= Self.digits.count
        }
        return checksum.reversed()
    }
}

/// The beginning of a token, `spt_` and eight characters. Lists show it, and administrators revoke
/// the token by it.
package struct TokenPrefix: Sendable, Hashable, CustomStringConvertible {
    fileprivate static let length = BearerToken.start.utf8.count + 8

    package let description: String

    /// Returns `nil` if no token can begin with this text.
    package init?(_ text: String) {
        guard text.utf8.count == Self.length, text.hasPrefix(BearerToken.start),
            text.utf8.dropFirst(BearerToken.start.utf8.count).allSatisfy(\.isLetterOrDigit)
        else { return nil }
        self.description = text
    }
}

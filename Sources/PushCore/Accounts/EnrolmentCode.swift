internal import Bytes

/// A one-time code with which a device gets a token of its user: 25 letters and digits with 125
/// random bits, in groups of five.
///
/// People can read the code aloud and type it. The code is in Crockford's base32, which has no
/// letters that look like digits. Upper and lower case are equal, and dashes and blanks are
/// ignored.
package struct EnrolmentCode: Sendable {
    /// The shortest and the longest lifetime of a code.
    package static let lifetime = Duration.seconds(60)...Duration.seconds(86_400)
    package static let usualLifetime = Duration.seconds(900)

    private static let digits = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
    private static let length = 25
    private static let maximumText = 100

    /// The code in upper case, without dashes.
    private let code: String

    package static func random() -> EnrolmentCode {
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<Self.length).map { _ in Self.digits[Int.random(in: 0..<Self.digits.count, using: &generator)] }
        return EnrolmentCode(code: String(decoding: bytes, as: UTF8.self))
    }

    private init(code: String) {
        self.code = code
    }

    /// Returns `nil` unless the text has the form of a code.
    package init?(_ text: String) {
        guard text.utf8.count <= Self.maximumText else { return nil }
        var bytes: [UInt8] = []
        for byte in text.utf8 where byte != UInt8(ascii: "-") && byte != UInt8(ascii: " ") {
            let digit: UInt8 =
                switch byte.lowercased {
                case UInt8(ascii: "o"): UInt8(ascii: "0")
                case UInt8(ascii: "i"), UInt8(ascii: "l"): UInt8(ascii: "1")
                case UInt8(ascii: "a")...UInt8(ascii: "z"): byte.lowercased - 0x20
                default: byte
                }
            guard Self.digits.contains(digit) else { return nil }
            bytes.append(digit)
        }
        guard bytes.count == Self.length else { return nil }
        self.code = String(decoding: bytes, as: UTF8.self)
    }

    /// The code as the server shows it, which it does only once.
    package var text: Secret<String> {
        let bytes = Array(self.code.utf8)
        let groups = stride(from: 0, to: bytes.count, by: 5).map { String(decoding: bytes[$0..<$0 + 5], as: UTF8.self) }
        return Secret(groups.joined(separator: "-"))
    }

    /// The hash that the database stores. A plain hash is enough for a secret that cannot be
    /// guessed. The word `enrolment` before the code makes the hash differ from the hash of any
    /// token.
    package var fingerprint: Fingerprint { Fingerprint(of: "enrolment \(self.code)") }
}

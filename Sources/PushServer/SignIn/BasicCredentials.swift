internal import Bytes
internal import Foundation
internal import PushCore

/// A name and a password from `Authorization: Basic`, RFC 7617.
struct BasicCredentials: Sendable {
    let username: Username
    let password: Secret<String>

    /// Reads the field. Returns `nil` for another scheme, wrong base64, a missing colon, text that
    /// is not UTF-8, control characters, or a name that is not a `Username`. The first colon ends
    /// the name; the password may contain further colons.
    init?(field: String) {
        let words = field.split(separator: " ", maxSplits: 1)
        guard
            words.count == 2, words[0].lowercased() == "basic",
            let bytes = Base64.standard.bytes(in: words[1].trimmingCharacters(in: .init(charactersIn: " ")).utf8),
            let text = String(validating: bytes, as: UTF8.self),
            !bytes.contains(where: \.isControl),
            let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")),
            let username = Username(String(text[..<colon]))
        else { return nil }
        self.username = username
        self.password = Secret(String(text[text.utf8.index(after: colon)...]))
    }
}

import Foundation
import PushCore

@testable import PushServer

extension FuzzTarget {
    /// `Authorization: Basic`: accepted credentials are accepted again when they are written
    /// again. Bytes in base64 are accepted if and only if they are a name, a colon and a
    /// password.
    ///
    /// `Authorization: Bearer`: a token is the remainder of the field, and begins with the prefix
    /// that it shows.
    static func authorization(_ bytes: [UInt8]) throws {
        let field = String(decoding: bytes, as: UTF8.self)
        if case .bearer(let text) = Credentials(field: field), let token = BearerToken(String(text)) {
            try require(field.hasSuffix(token.text.exposed), "\(field) ends with its token")
            try require(token.text.exposed.hasPrefix(token.prefix.description), "\(token.prefix) is its beginning")
        }
        if let credentials = BasicCredentials(field: field) {
            let text = Array("\(credentials.username):\(credentials.password.exposed)".utf8)
            try require(Self.read(text) == text, "\(text) is read as it is written")
        }
        let isGood = Self.areCredentials(bytes)
        try require(Self.read(bytes) == (isGood ? bytes : nil), "\(bytes) \(isGood ? "are" : "are no") credentials")
    }

    /// Returns the text of the credentials that are read from `text` in base64.
    private static func read(_ text: [UInt8]) -> [UInt8]? {
        BasicCredentials(field: "Basic \(Data(text).base64EncodedString())").map { credentials in
            Array("\(credentials.username):\(credentials.password.exposed)".utf8)
        }
    }

    /// Returns whether the bytes are credentials by RFC 7617 section 2, byte by byte, and by the
    /// alphabet of names.
    private static func areCredentials(_ bytes: [UInt8]) -> Bool {
        guard
            let colon = bytes.firstIndex(of: UInt8(ascii: ":")), (1...100).contains(colon),
            String(validating: bytes, as: UTF8.self) != nil
        else { return false }
        return bytes[..<colon].allSatisfy { "-_@#+.".utf8.contains($0) || Self.isLetterOrDigit($0) }
            && bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) && byte < 0x80
    }
}

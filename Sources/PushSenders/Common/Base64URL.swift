internal import Foundation

/// Base64 with the alphabet of URLs, RFC 4648 section 5.
enum Base64URL {
    /// Without padding.
    static func encode(_ bytes: some Sequence<UInt8>) -> String {
        Data(bytes).base64EncodedString()
            .replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_")
            .replacingOccurrences(of: "=", with: "")
    }

    /// Takes padding and the other alphabet as well, which some clients send; `nil` for anything else.
    static func decode(_ text: String) -> [UInt8]? {
        let digits = text.utf8.reversed().drop { $0 == UInt8(ascii: "=") }.count
        var standard = text.prefix(digits).replacingOccurrences(of: "-", with: "+")
        standard = standard.replacingOccurrences(of: "_", with: "/")
        standard += String(repeating: "=", count: (4 - digits % 4) % 4)
        return Data(base64Encoded: standard).map(Array.init)
    }
}

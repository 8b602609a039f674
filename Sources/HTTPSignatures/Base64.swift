internal import Foundation

/// Base64 in the one spelling that each value has.
enum Base64 {
    static func text(of bytes: some Sequence<UInt8>) -> String {
        Data(bytes).base64EncodedString()
    }

    /// `nil` unless it is written as it would be here: Foundation overlooks bits to spare.
    static func bytes(of text: String) -> [UInt8]? {
        guard let data = Data(base64Encoded: text), data.base64EncodedString() == text else { return nil }
        return Array(data)
    }

    /// The alphabet for URLs, without padding (RFC 4648 §5), as JSON Web Keys have it.
    static func urlText(of bytes: some Sequence<UInt8>) -> String {
        String(
            decoding: self.text(of: bytes).utf8.compactMap { byte -> UInt8? in
                switch byte {
                case UInt8(ascii: "+"): UInt8(ascii: "-")
                case UInt8(ascii: "/"): UInt8(ascii: "_")
                case UInt8(ascii: "="): nil
                default: byte
                }
            },
            as: UTF8.self
        )
    }

    static func bytes(ofURLText text: String) -> [UInt8]? {
        let padded = text.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "-"): UInt8(ascii: "+")
            case UInt8(ascii: "_"): UInt8(ascii: "/")
            default: byte
            }
        }
        let padding = String(repeating: "=", count: (4 - padded.count % 4) % 4)
        guard let bytes = self.bytes(of: String(decoding: padded, as: UTF8.self) + padding) else { return nil }
        // Neither may the text have had the other alphabet, or padding.
        return self.urlText(of: bytes) == text ? bytes : nil
    }
}

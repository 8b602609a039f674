internal import Bytes

/// Words of a provider, made fit for a log.
enum ProviderWords {
    /// Names of errors: one word of letters, digits and `_`, `-`, `.`; `nil` for anything else.
    static func code(_ text: String?) -> String? {
        guard let text, (1...64).contains(text.utf8.count), text.utf8.allSatisfy(self.isCodeByte) else { return nil }
        return text
    }

    /// Sentences: printable ASCII, cut off at 200 characters, without addresses: a device's own may be among them.
    static func sentence(_ text: String?) -> String? {
        guard let text, !text.isEmpty else { return nil }
        let bytes = text.replacing(#/\S*:\/\/\S*/#, with: "...").utf8.prefix(200).map {
            $0.isPrintable ? $0 : UInt8(ascii: "?")
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Sentences without what may be the device's address, which some providers repeat: words are cut off at 40
    /// characters, which no word of theirs has.
    static func anonymousSentence(_ text: String?) -> String? {
        self.sentence(text).map { sentence in
            sentence.split(separator: " ").map { $0.utf8.count > 40 ? "\($0.prefix(8))..." : $0 }.joined(separator: " ")
        }
    }

    private static func isCodeByte(_ byte: UInt8) -> Bool {
        byte.isLetterOrDigit || "_-.".utf8.contains(byte)
    }
}

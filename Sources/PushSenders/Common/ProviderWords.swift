internal import Bytes

/// Makes a provider's texts safe for a log.
enum ProviderWords {
    /// An error code: one word of letters, digits and `_`, `-`, `.`; `nil` for any other text.
    static func code(_ text: String?) -> String? {
        guard let text, (1...64).contains(text.utf8.count), text.utf8.allSatisfy(self.isCodeByte) else { return nil }
        return text
    }

    /// A sentence in printable ASCII, cut off at 200 characters. URLs are left out, since a URL
    /// may be the device's own address.
    static func sentence(_ text: String?) -> String? {
        guard let text, !text.isEmpty else { return nil }
        // The text is cut first, because a host that a device has named may send far more than is
        // needed.
        let bytes = text.utf8.prefix(200).map { $0.isPrintable ? $0 : UInt8(ascii: "?") }
        return String(decoding: bytes, as: UTF8.self)
            .split(separator: " ", omittingEmptySubsequences: false)
            .map { $0.contains("://") ? "..." : $0 }
            .joined(separator: " ")
    }

    /// A sentence without the device's address, which some providers repeat in their answers.
    /// Words with more than 40 characters are shortened: the words of providers are never so long,
    /// but addresses are.
    static func anonymousSentence(_ text: String?) -> String? {
        self.sentence(text).map { sentence in
            sentence.split(separator: " ").map { $0.utf8.count > 40 ? "\($0.prefix(8))..." : $0 }.joined(separator: " ")
        }
    }

    /// The words of a text in lower case. Addresses and tokens are left out, because their random
    /// letters may spell any word. The words of providers have at most 40 characters, so longer
    /// ones are left out.
    static func words(_ text: String) -> [Substring] {
        text.lowercased()
            .split { $0.isWhitespace || "\"'<>,;()[]{}".contains($0) }
            .filter { $0.utf8.count <= 40 && !$0.contains("://") }
    }

    private static func isCodeByte(_ byte: UInt8) -> Bool {
        byte.isLetterOrDigit || "_-.".utf8.contains(byte)
    }
}

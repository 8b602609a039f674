internal import Bytes
internal import HTTPTypes
internal import SocketHTTP

/// The preferences in `Prefer` (RFC 7240) that the server knows: only `handling`.
struct Preferences: Sendable, Hashable {
    /// Whether the request has `handling=strict` (section 4.4): then the server must refuse the
    /// request if it has an unknown member or parameter.
    let isStrict: Bool

    @inline(never)
    init(of head: RequestHead) {
        self.init(head[.prefer] ?? "")
    }

    /// Reads the value of `Prefer`. Ignores unknown and malformed preferences. If `handling`
    /// occurs twice, the first one counts, as section 2 says.
    init(_ field: String) {
        for preference in Self.split(Array(field.utf8)[...], at: UInt8(ascii: ",")) {
            // The parameters of a preference follow a semicolon. They are ignored, since
            // `handling` has none.
            guard let pair = Self.split(preference, at: UInt8(ascii: ";")).first else { continue }
            let parts = Self.split(pair, at: UInt8(ascii: "=")).map(Self.trimmed)
            guard parts.count <= 2, Self.isWord(parts[0], "handling") else { continue }
            self.isStrict = parts.count == 2 && Self.isWord(Self.unquoted(parts[1]), "strict")
            return
        }
        self.isStrict = false
    }

    /// Splits at a separator outside of quoted strings. An unterminated string reaches to the end
    /// of the text.
    private static func split(_ text: ArraySlice<UInt8>, at separator: UInt8) -> [ArraySlice<UInt8>] {
        var parts: [ArraySlice<UInt8>] = []
        var start = text.startIndex
        var isQuoted = false
        var isEscaped = false
        for index in text.indices {
            switch text[index] {
            case _ where isEscaped: isEscaped = false
            case UInt8(ascii: "\\"): isEscaped = isQuoted
            case UInt8(ascii: "\""): isQuoted.toggle()
            case separator where !isQuoted:
                parts.append(text[start..<index])
                start = index + 1
            default: break
            }
        }
        return parts + [text[start...]]
    }

    /// The content of a quoted string, with its escapes; other texts are returned unchanged.
    private static func unquoted(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let quote = UInt8(ascii: "\"")
        guard text.count >= 2, text.first == quote, text.last == quote else { return text }
        return text.dropFirst().dropLast()
    }

    private static func isWord(_ text: ArraySlice<UInt8>, _ word: StaticString) -> Bool {
        text.map(\.lowercased).elementsEqual(word.description.utf8)
    }

    private static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var text = text.drop(while: \.isBlank)
        while text.last?.isBlank == true { text = text.dropLast() }
        return text
    }
}

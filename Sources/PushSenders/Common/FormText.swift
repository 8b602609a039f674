internal import Bytes

/// Text of the type `application/x-www-form-urlencoded`.
enum FormText {
    static func encoded(_ fields: [(name: String, value: String)]) -> String {
        fields.map { self.escaped($0.name) + "=" + self.escaped($0.value) }.joined(separator: "&")
    }

    /// Percent-encodes all but the unreserved characters of RFC 3986: a receiver would read an
    /// unescaped `+` in a secret as a space.
    private static func escaped(_ text: String) -> String {
        var result = ""
        for byte in text.utf8 {
            if byte.isLetterOrDigit || "-._~".utf8.contains(byte) {
                result.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                result += "%" + Hexadecimal.text(of: [byte]).uppercased()
            }
        }
        return result
    }
}

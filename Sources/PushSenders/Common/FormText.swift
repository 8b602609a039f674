/// `application/x-www-form-urlencoded`.
enum FormText {
    static func encoded(_ fields: [(name: String, value: String)]) -> String {
        fields.map { self.escaped($0.name) + "=" + self.escaped($0.value) }.joined(separator: "&")
    }

    /// All but the unreserved characters of RFC 3986 as percent escapes: a bare `+` in a secret would be read as a blank.
    private static func escaped(_ text: String) -> String {
        var result = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                result.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                result += digits.utf8.count == 1 ? "%0" + digits : "%" + digits
            }
        }
        return result
    }
}

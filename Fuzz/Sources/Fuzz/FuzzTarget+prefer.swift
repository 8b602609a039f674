@testable import PushServer

extension FuzzTarget {
    /// `Prefer`: the first occurrence of a preference decides, and quoted strings have no effect.
    static func prefer(_ bytes: [UInt8]) throws {
        let text = String(decoding: bytes, as: UTF8.self)
        let isStrict = Preferences(text).isStrict
        try require(Preferences("handling=strict, \(text)").isStrict, "strict before \(text) is strict")
        try require(!Preferences("handling=lenient, \(text)").isStrict, "lenient before \(text) is lenient")
        try require(Preferences("unheard-of, \(text)").isStrict == isStrict, "\(text) means the same behind another")
        let (quote, backslash, comma) = (UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: ","))
        let escaped = text.utf8.flatMap { $0 == quote || $0 == backslash ? [backslash, $0] : [$0] }
        let quoted = "a=\"\(String(decoding: escaped, as: UTF8.self))\""
        try require(!Preferences(quoted).isStrict, "\(quoted) is not strict")
        try require(Preferences("\(quoted), handling=strict").isStrict, "strict behind \(quoted) is strict")
        let parameter = String(decoding: text.utf8.filter { $0 != comma && $0 != quote }, as: UTF8.self)
        try require(!Preferences("b; \(parameter)").isStrict, "\(parameter) is a parameter and no preference")
    }
}

import Testing

/// A document as in JSONTestSuite. The parser must accept documents of the kind `y` and refuse
/// those of the kind `n`. It may accept or refuse those of the kind `i`.
struct JSONSample: Sendable, CustomTestStringConvertible {
    enum Kind: Sendable, Hashable {
        case y, n, i
    }

    let name: String
    let kind: Kind
    let bytes: [UInt8]
    /// The text that the server returns for an accepted document; `nil` if the server refuses the
    /// document.
    let given: String?
    /// Whether CPython and the server disagree on accepting the document. The document's name says
    /// why.
    let differsFromPython: Bool

    var testDescription: String { "\(self.kind)_\(self.name)" }

    static let all: [JSONSample] = [
        Self.numbers, Self.strings, Self.structures, Self.badNumbers, Self.badStrings, Self.badBytes,
        Self.badStructures,
    ].flatMap(\.self)

    // MARK: - Private

    private static func y(_ name: String, _ text: String, _ given: String? = nil) -> JSONSample {
        JSONSample(name: name, kind: .y, bytes: Array(text.utf8), given: given ?? text, differsFromPython: false)
    }

    private static func n(_ name: String, _ text: String) -> JSONSample {
        Self.n(name, Array(text.utf8))
    }

    private static func n(_ name: String, _ bytes: [UInt8]) -> JSONSample {
        JSONSample(name: name, kind: .n, bytes: bytes, given: nil, differsFromPython: false)
    }

    /// Makes a document that the server accepts and returns unchanged.
    private static func taken(_ name: String, _ text: String) -> JSONSample {
        JSONSample(name: name, kind: .i, bytes: Array(text.utf8), given: text, differsFromPython: false)
    }

    private static func refused(_ name: String, _ bytes: [UInt8], differsFromPython: Bool = false) -> JSONSample {
        JSONSample(name: name, kind: .i, bytes: bytes, given: nil, differsFromPython: differsFromPython)
    }

    private static func refused(_ name: String, _ text: String, differsFromPython: Bool = false) -> JSONSample {
        Self.refused(name, Array(text.utf8), differsFromPython: differsFromPython)
    }

    /// Returns the bytes in quotes.
    private static func quoted(_ bytes: UInt8...) -> [UInt8] { [0x22] + bytes + [0x22] }

    private static let goodNumbers: [String] = [
        "0", "-0", "1", "-1", "123", "10", "0.1", "-0.1", "1.0", "1.10", "0.000", "-0.0", "1e1", "1E1", "1e+1", "1e-1",
        "1E+01", "1e00", "0e0", "0e+1", "0E-1", "20e1", "1.5E-3", "123.456e78", "1000000000000000000000",
        "-9223372036854775808",
        "18446744073709551616", "0.10000000000000000000000000000000000000001",
        "-0.000000000000000000000000000000000000000000000000000000000000000000000000000001",
    ]

    private static let numbers: [JSONSample] = Self.goodNumbers.map { Self.y("number \($0)", $0) } + Self.otherNumbers

    private static let otherNumbers: [JSONSample] = [
        Self.y("number after blank", " 4", "4"),
        Self.taken("number huge exponent", "0.4e00669999999999999999999999999999999999999999999999999969999999006"),
        Self.taken("number negative huge exponent", "-1e+9999"), Self.taken("number tiny", "123e-10000000"),
        Self.taken("number of many digits", String(repeating: "9", count: 400)),
        Self.taken("number overflow", "1.5e+9999"), Self.taken("number underflow", "-1e-9999"),
    ]

    private static let strings: [JSONSample] = [
        Self.y("string empty", #""""#), Self.y("string", #""abc""#), Self.y("string blank", #"" ""#),
        Self.y("string escapes", #""\"\\\/\b\f\n\r\t""#, #""\"\\/\u0008\u000c\n\r\t""#),
        Self.y("string escaped letter", #""\u0041\u0062""#, #""Ab""#),
        Self.y("string escaped umlaut", #""\u00e9""#, "\"é\""),
        Self.y("string escape in upper case", #""\u00E9\u20AC""#, "\"é€\""),
        Self.y("string escaped NUL", #""\u0000""#), Self.y("string escaped control", #""\u0012""#),
        Self.y("string escaped DEL", #""\u007F""#, #""\u007f""#), Self.y("string DEL", "\"\u{7F}\"", #""\u007f""#),
        Self.y("string pair", #""\ud83d\ude00""#, "\"😀\""),
        Self.y("string pair in upper case", #""\uD834\uDD1E""#, "\"𝄞\""),
        Self.y("string last pair", #""\uDBFF\uDFFF""#, "\"\u{10FFFF}\""),
        Self.y("string pair after a letter", #""a\ud801\udc37b""#, "\"a𐐷b\""),
        Self.y("string two pairs", #""\ud83d\ude39\ud83d\udc8d""#, "\"😹💍\""),
        Self.y("string noncharacters", #""\uFFFE\uFFFF""#, "\"\u{FFFE}\u{FFFF}\""),
        Self.y("string replacement character", #""\uFFFD""#, "\"\u{FFFD}\""),
        Self.y("string line separators", "\"\u{2028}\u{2029}\""), Self.y("string of UTF-8", "\"é€😀\u{10FFFF}\""),
        Self.y("string noncharacter in UTF-8", "\"\u{FFFF}\u{1FFFF}\""), Self.y("string mark within", "\"\u{FEFF}\""),
        Self.y("string composed and not", "\"\u{E9}e\u{301}\""), Self.y("string combining first", "\"\u{301}\""),
        Self.y("string combining after an escape", "\"\\\"\u{301}\""),
        Self.y("string backslash and u", #""\\u0061""#), Self.y("string of comments", #""a/*b*/c//d""#),
        Self.y("string of escaped backslashes", #""\\\\""#), Self.y("string right to left", "\"\u{202E}abc\""),
        Self.y("string of a kibibyte", "\"\(String(repeating: "x", count: 1024))\""),
        Self.refused("string half pair (CPython keeps it)", #""\ud800""#, differsFromPython: true),
        Self.refused("string half pair in upper case (CPython keeps it)", #""\uDBFF""#, differsFromPython: true),
        Self.refused("string low half (CPython keeps it)", #""\udc00""#, differsFromPython: true),
        Self.refused(
            "string halves in the wrong order (CPython keeps them)",
            #""\udc00\ud800""#,
            differsFromPython: true
        ),
        Self.refused("string two high halves (CPython keeps them)", #""\ud800\ud800""#, differsFromPython: true),
        Self.refused("string half and a letter (CPython keeps it)", #""\ud800a""#, differsFromPython: true),
        Self.refused("string half and an escape (CPython keeps it)", #""\ud800\n""#, differsFromPython: true),
        Self.refused(
            "string half and a letter's escape (CPython keeps it)",
            #""\ud800\u0041""#,
            differsFromPython: true
        ),
    ]

    private static let structures: [JSONSample] = [
        Self.y("word true", "true"), Self.y("word false", "false"), Self.y("array empty", "[]"),
        Self.y("array with a blank", "[ ]", "[]"), Self.y("array", "[1,2.50,\"a\",null,true,false,[],{}]"),
        Self.y("array of null", "[null]"), Self.y("array of an empty string", "[\"\"]"),
        Self.y("array with line ends", "[\n1\r,\t2 ]", "[1,2]"), Self.y("array and blanks behind", "[1] \n", "[1]"),
        Self.y("object empty", "{}"), Self.y("object with a blank", "{ }", "{}"),
        Self.y("object", #"{"a":1,"b":{"c":[]}}"#),
        Self.y("object order", #"{"z":1,"a":2,"m":3}"#), Self.y("object twice", #"{"a":1,"a":2}"#),
        Self.y("object twice the same", #"{"a":1,"a":1}"#), Self.y("object empty name", #"{"":0}"#),
        Self.y("object names in other case", #"{"a":1,"A":2}"#),
        Self.y("object escaped name", #"{"\u0061":1}"#, #"{"a":1}"#),
        Self.y("object escaped NUL in name", #"{"a\u0000b":1}"#),
        Self.y("object with blanks", "{ \"a\" :\t1 ,\n\"b\":2 }", #"{"a":1,"b":2}"#),
        Self.y("object name __proto__", #"{"__proto__":{"x":1}}"#),
        Self.y("object of long text", #"{"x":"\#(String(repeating: "é", count: 500))"}"#),
        Self.y("nested 61", String(repeating: "[", count: 61) + String(repeating: "]", count: 61)),
        Self.y("nested objects 60", String(repeating: #"{"a":"#, count: 60) + "1" + String(repeating: "}", count: 60)),
        Self.refused(
            "nested 65 (CPython nests deeper)",
            String(repeating: "[", count: 65) + String(repeating: "]", count: 65),
            differsFromPython: true
        ),
        Self.refused(
            "nested 500 (CPython nests deeper)",
            String(repeating: "[", count: 500) + String(repeating: "]", count: 500),
            differsFromPython: true
        ),
        Self.refused(
            "nested objects 65 (CPython nests deeper)",
            String(repeating: #"{"a":"#, count: 65) + "1" + String(repeating: "}", count: 65),
            differsFromPython: true
        ),
    ]

    private static let badNumberTexts: [String] = [
        "01", "-01", "00", "-", "+1", "--1", "-a", "1.", ".5", "-.5", "1.e1", "1e", "1E", "1e+", "1e-", "1e1.5", "1ee1",
        "1.2.3",
        "0x1", "0x", "1_000", "1,000", "1 000", "NaN", "-NaN", "Infinity", "-Infinity", "+Infinity", "Inf", "1a",
        "1e1a", "0.1.",
        "1/2", "\u{FF11}", "\u{661}", "1\u{661}", "012", "-0x1", "1.0e+", "0e", ".", "e1", "1f",
    ]

    private static let badNumbers: [JSONSample] = Self.badNumberTexts.map { Self.n("number \($0)", $0) }

    private static let badStringTexts: [(String, String)] = [
        ("single quotes", "'a'"), ("no quotes", "abc"), ("not ended", "\""), ("not ended after text", "\"abc"),
        ("ended by an escape", #""\""#), ("backslash last", "\"\\"), ("escape x", #""\x00""#), ("escape a", #""\a""#),
        ("escape 0", #""\0""#), ("escape upper U", #""\U0041""#), ("escape of a quote only", #""\'""#),
        ("escape of a letter beyond ASCII", "\"\\é\""), ("escape short", #""\u""#), ("escape of three", #""\u00A""#),
        ("escape of a letter", #""\u00G0""#), ("escape of a sign", #""\u+041""#), ("escape of blanks", #""\u  41""#),
        ("escape of wide digits", "\"\\u\u{FF10}\u{FF10}\u{FF14}\u{FF11}\""),
        ("half escape after half", #""\ud800\u""#),
        ("half escape after half, short", #""\ud800\u1""#), ("half and end", #""\ud800\"#), ("tab", "\"\t\""),
        ("line feed", "\"a\nb\""), ("carriage return", "\"a\rb\""), ("NUL", "\"a\u{0}b\""),
        ("unit separator", "\"\u{1F}\""),
        ("follows", #""a"b"#), ("two", #""a""b""#), ("two with a comma", #""a","b""#), ("line continued", "\"a\\\nb\""),
        ("prefix", #"u"a""#), ("backquotes", "`a`"),
    ]

    private static let badStrings: [JSONSample] = Self.badStringTexts.map { Self.n("string \($0)", $1) }

    private static let badBytes: [JSONSample] = [
        Self.refused("bytes continuation alone", Self.quoted(0x80)), Self.refused("bytes FF", Self.quoted(0xFF)),
        Self.refused("bytes FE", Self.quoted(0xFE)), Self.refused("bytes cut after one", Self.quoted(0xC3)),
        Self.refused("bytes cut after two", Self.quoted(0xE2, 0x82)),
        Self.refused("bytes cut after three", Self.quoted(0xF0, 0x9F, 0x98)),
        Self.refused("bytes overlong slash", Self.quoted(0xC0, 0xAF)),
        Self.refused("bytes overlong NUL", Self.quoted(0xC0, 0x80)),
        Self.refused("bytes overlong of three", Self.quoted(0xE0, 0x80, 0xAF)),
        Self.refused("bytes overlong of four", Self.quoted(0xF0, 0x80, 0x80, 0xAF)),
        Self.refused("bytes half pair", Self.quoted(0xED, 0xA0, 0x80)),
        Self.refused("bytes pair as six", Self.quoted(0xED, 0xA0, 0xBD, 0xED, 0xB8, 0x80)),
        Self.refused("bytes above the last scalar", Self.quoted(0xF4, 0x90, 0x80, 0x80)),
        Self.refused("bytes F5", Self.quoted(0xF5, 0x80, 0x80, 0x80)),
        Self.refused("bytes of five", Self.quoted(0xF8, 0x88, 0x80, 0x80, 0x80)),
        Self.refused("bytes Latin-1", Self.quoted(0x61, 0xE9, 0x62)),
        Self.refused("bytes lead then ASCII", Self.quoted(0xC3, 0x28)),
        Self.n("bytes outside of a string", [0xE9]),
        Self.n("bytes in a name", Array(#"{""#.utf8) + [0xFF] + Array(#"":1}"#.utf8)),
        Self.refused("byte order mark", [0xEF, 0xBB, 0xBF] + Array("{}".utf8)),
        Self.n("byte order mark alone", [0xEF, 0xBB, 0xBF]),
        Self.n("byte order mark cut", [0xEF, 0xBB] + Array("{}".utf8)),
        Self.refused("UTF-16 little end first", [0xFF, 0xFE, 0x5B, 0x00, 0x5D, 0x00]),
        Self.refused("UTF-16 without a mark", [0x5B, 0x00, 0x5D, 0x00]),
        Self.refused("UTF-16 big end first", [0x00, 0x5B, 0x00, 0x5D]),
        Self.n("NUL", [0]), Self.n("NUL behind", Array("[]".utf8) + [0]), Self.n("NUL before", [0] + Array("[]".utf8)),
    ]

    private static let badStructureTexts: [(String, String)] = [
        ("blank", " "), ("word cut", "tru"), ("word in upper case", "True"), ("word nul", "nul"),
        ("word nulll", "nulll"),
        ("word truefalse", "true false"), ("word undefined", "undefined"), ("array open", "["),
        ("array open after a value", "[1"),
        ("array open after a comma", "[1,"), ("array closed only", "]"), ("array closed twice", "[1]]"),
        ("array comma last", "[1,]"),
        ("array comma first", "[,1]"), ("array comma only", "[,]"), ("array two commas", "[1,,2]"),
        ("array no comma", "[1 2]"),
        ("array colon", "[\"a\":1]"), ("array closed by a brace", "[1}"), ("array semicolon", "[1;2]"),
        ("array star", "[*]"),
        ("object open", "{"), ("object open after a name", #"{"a""#), ("object open after a colon", #"{"a":"#),
        ("object open after a value", #"{"a":1"#), ("object comma last", #"{"a":1,}"#),
        ("object comma first", #"{,"a":1}"#),
        ("object two commas", #"{"a":1,,"b":2}"#), ("object no value", #"{"a":}"#), ("object no colon", #"{"a" 1}"#),
        ("object two colons", #"{"a"::1}"#), ("object name without quotes", "{a:1}"),
        ("object name in single quotes", "{'a':1}"),
        ("object number for a name", "{1:1}"), ("object null for a name", "{null:1}"), ("object name only", #"{"a"}"#),
        ("object equals", #"{"a"=1}"#), ("object closed by a bracket", #"{"a":1]"#), ("object closed twice", "{}}"),
        ("object brackets crossed", #"{"a":[1}]"#), ("two values", "1 2"), ("two objects", "{}{}"),
        ("comment before", "/**/1"),
        ("comment behind", "1 // a"), ("comment within", "[1/**/]"), ("hash comment", "# a\n1"),
        ("form feed", "\u{C}1"),
        ("vertical tab", "[\u{B}1]"), ("no-break space", "\u{A0}1"), ("em space", "[\u{2003}1]"),
        ("zero width space", "\u{200B}1"),
        ("next line", "\u{85}1"), ("angle brackets", "<null>"), ("parentheses", "(1)"), ("backslash", "\\u0031"),
        ("ampersand", "&"),
        ("YAML", "a: 1"), ("record separator", "\u{1E}1"), ("garbage behind", "[1]x"),
        ("garbage behind a string", "\"a\"x"),
        ("comma behind", "1,"), ("equals", "=1"), ("dash", "--"), ("open everywhere", "[{[{[{"),
        ("unbalanced", #"[{"a":[}]"#),
    ]

    private static let badStructures: [JSONSample] = Self.badStructureTexts.map { Self.n($0, $1) }
}

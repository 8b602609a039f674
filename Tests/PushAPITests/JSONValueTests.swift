import PushAPI
import Testing

@Suite(.timeLimit(.minutes(5))) struct JSONValueTests {
    @Test(arguments: [
        "null", "true", "false", "0", "-0", "1.10", "-12.5e+3", "1E400", "123456789012345678901234567890",
        #""""#, #""a\"b\\c""#, #"[]"#, #"{}"#, #"[1,[2,[3]]]"#, #"{"b":1,"a":{"b":null},"b":2}"#, #""é😀""#,
    ])
    func canonicalTextSurvivesARoundTrip(text: String) throws {
        #expect(String(decoding: try JSONValue(reading: text.utf8).bytes, as: UTF8.self) == text)
    }

    @Test(arguments: [
        (#" [ 1 , 2 ] "#, "[1,2]"), (#""\u0041\/\b\f""#, #""A/\u0008\u000c""#), (#""\ud83d\ude00""#, "\"😀\""),
        ("\t{\"a\" :\n1 }\r", #"{"a":1}"#), (#""\u0000\u007f""#, #""\u0000\u007f""#),
        ("\"\\n\\r\\t\"", "\"\\n\\r\\t\""),
    ])
    func otherSpellingsAreNormalised(text: String, written: String) throws {
        #expect(String(decoding: try JSONValue(reading: text.utf8).bytes, as: UTF8.self) == written)
    }

    @Test(arguments: [
        "", " ", "nul", "nulll", "True", "01", "-", "+1", "1.", ".5", "1e", "1e+", "0x1", "NaN", "Infinity", "'a'",
        "\"", "\"a", "\"\\\"", "\"\\x\"", "\"\\u12\"", "\"\\u12G4\"", "\"\\ud800\"", "\"\\ud800\\u0041\"",
        "\"\\udc00\"", "\"a\nb\"", "\"\u{0}\"", "[", "]", "[1", "[1,]", "[,1]", "[1 2]", "{", "}", "{\"a\"}",
        "{\"a\":}", "{\"a\":1,}", "{a:1}", "{\"a\" 1}", "{1:1}", "[1]]", "1 2", "// x", "[1] x", "\u{FEFF}1",
    ])
    func invalidJSONIsRefused(text: String) {
        #expect(throws: JSONSyntaxError.self) { try JSONValue(reading: text.utf8) }
    }

    @Test func bytesThatAreNotUTF8AreRefusedInAString() {
        for bytes: [UInt8] in [[0xFF], [0xC0, 0xAF], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xC3]] {
            #expect(throws: JSONSyntaxError.self) { try JSONValue(reading: [0x22] + bytes + [0x22]) }
        }
    }

    @Test func nestingIsBounded() throws {
        let allowed = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
        #expect(throws: Never.self) { try JSONValue(reading: allowed.utf8) }
        for opening in ["[", "{\"a\":"] {
            #expect(throws: JSONSyntaxError.self) {
                try JSONValue(reading: String(repeating: opening, count: 100_000).utf8)
            }
        }
    }

    @Test func syntaxErrorHasAPosition() {
        let error = #expect(throws: JSONSyntaxError.self) { try JSONValue(reading: "[1,\n x]".utf8) }
        #expect(error?.offset == 5)
    }

    @Test func membersAreFoundInAnyCaseAndTheLastCounts() throws {
        let json = try JSONValue(reading: #"{"platform":"a","PLATFORM":"b"}"#.utf8)
        #expect(json["Platform"] == .string("b"))
        #expect(json["Handle"] == nil)
        #expect(JSONValue.null["x"] == nil)
    }

    @Test(arguments: [("1", 1), ("-0", 0), ("9223372036854775807", Int.max), ("1.0", 1), ("-7.000", -7)])
    func integersAreRead(text: String, number: Int) throws {
        #expect(try JSONValue(reading: text.utf8).integer == number)
    }

    @Test(arguments: ["1.5", "1.01", "1e2", "1.0e1", "9223372036854775808", "9223372036854775808.0", "\"1\""])
    func valuesOtherThanIntegersAreRefused(text: String) throws {
        #expect(try JSONValue(reading: text.utf8).integer == nil)
    }
}

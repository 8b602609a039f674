import Testing

@testable import HTTPSignatures

@Suite(.timeLimit(.minutes(5))) struct StructuredFieldTests {
    /// Dictionaries, and the canonical form in which the parser writes them.
    @Test(arguments: [
        ("", ""), ("   ", ""), ("a", "a"), ("a=?1", "a"), ("a=?0", "a=?0"), ("a=1,b=2", "a=1, b=2"),
        ("a=1 \t,\t b=-2 ", "a=1, b=-2"), ("*a-b_c.d*=x", "*a-b_c.d*=x"), ("a=();b", "a=();b"),
        ("a=(  1   2 )", "a=(1 2)"), ("a;  b;c=?1;d=\"\\\"\\\\\"", "a;b;c;d=\"\\\"\\\\\""),
        ("a=000, b=-0, c=999999999999999", "a=0, b=0, c=999999999999999"), ("a=1.50, b=-0.001", "a=1.5, b=-0.001"),
        ("a=999999999999.999", "a=999999999999.999"), ("a=1.0", "a=1.0"),
        ("a=tok/en:*!#$%&'+-.^_`|~", "a=tok/en:*!#$%&'+-.^_`|~"), ("a=*", "a=*"), ("a=::", "a=::"),
        ("a=:AA==:", "a=:AA==:"),
        ("a=@-1", "a=@-1"), (#"a=%"f%c3%bc""#, #"a=%"f%c3%bc""#), ("a=1, a=2", "a=1, a=2"),
        (#"sig=("@status" "mytoken";req);created=1;keyid="k""#, #"sig=("@status" "mytoken";req);created=1;keyid="k""#),
    ])
    func aDictionaryIsReadAndWritten(field: String, written: String) throws {
        let dictionary = try StructuredFieldParser.dictionary(field)
        #expect(dictionary.text == written)
        #expect(try StructuredFieldParser.dictionary(written) == dictionary)
    }

    @Test(arguments: [
        "A=1", "1=1", "=1", "a=", "a=1,", "a=1,,b=2", "a=1 b=2", ",", "a,", "a=1;", "a=1;B", "a=1;;b", "a=1; ", "a =1",
        "a= 1", "a=(1", "a=(1,2)", "a=(1\t2)", "a=(1)2", "a=((1))", "a=(\"a\"\"b\")", "a=1000000000000000",
        "a=1234567890123.1", "a=1.1234", "a=1.", "a=.1", "a=-", "a=--1", "a=+1", "a=1e2", "a=?2", "a=?", "a=?10",
        "a=\"", "a=\"b", "a=\"\\b\"", "a=\"\\", "a=\"\u{7F}\"", "a=\"\u{1}\"", "a=\"ü\"", "a='b'", "a=:", "a=:AA",
        "a=:AA:",
        "a=:A:", "a=:AB==:", "a=:AA==", "a=:A=A=:", "a=:====:", "a=:AA-_:", "a=:A A=:", "a=@", "a=@1.5", "a=@x",
        "a=%", "a=%\"", "a=%\"%C3%BC\"", "a=%\"%c3\"", "a=%\"%zz\"", "a=%\"%c", "a=1\r\n", "a=1\u{0}", "\ta=1", "a=ü",
        "a\u{301}=1",
    ])
    func fieldsThatTheRFCForbidsAreRefused(field: String) {
        #expect(throws: StructuredFieldError.self) { try StructuredFieldParser.dictionary(field) }
    }

    @Test func lastValueOfAKeyCounts() throws {
        let dictionary = try StructuredFieldParser.dictionary("a=1, b=2, a=3")
        #expect(dictionary["a"] == .item(FieldItem(.integer(3))))
        #expect(dictionary.hasRepeated("a") && !dictionary.hasRepeated("b") && dictionary.hasRepeated)
    }

    @Test func aFieldThatIsTooLongIsRefused() throws {
        let field = "a=\"" + String(repeating: "x", count: StructuredFieldParser.maximumLength - 4) + "\""
        #expect(try StructuredFieldParser.dictionary(field).entries.count == 1)
        #expect(throws: StructuredFieldError.self) { try StructuredFieldParser.dictionary(field + " ") }
    }

    @Test(arguments: ["(", "a=(", "a;", "a,", "a=:", "a;b=\""])
    func longRepetitionsAreRefused(part: String) {
        let field = String(repeating: part, count: StructuredFieldParser.maximumLength / part.utf8.count)
        #expect(throws: StructuredFieldError.self) { try StructuredFieldParser.dictionary(field) }
    }

    @Test func itemFieldHasASingleValue() throws {
        #expect(try StructuredFieldParser.item(" \"a b\" ").value == .string("a b"))
        #expect(try StructuredFieldParser.item("1;a").text == "1;a")
        #expect(throws: StructuredFieldError.self) { try StructuredFieldParser.item("1, 2") }
        #expect(throws: StructuredFieldError.self) { try StructuredFieldParser.item("(1)") }
        #expect(throws: StructuredFieldError.self) { try StructuredFieldParser.item("") }
    }
}

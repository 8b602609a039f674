import Foundation
import Logging
import PushAPI
import PushTesting
import Testing

@testable import PushApplication

/// Log lines with values by which an attacker tries to fake further log lines.
@Suite(.timeLimit(.minutes(5))) struct LogLineTests {
    private func line(_ value: String, name: String = "reason", message: String = "request failed") -> LogLine {
        LogLine(
            time: Date(timeIntervalSince1970: 1_800_000_000),
            level: .error,
            message: message,
            fields: [(name, value), ("request", "r1")]
        )
    }

    private static let head = "time=2027-01-15T08:00:00Z level=error request failed"

    /// A value of a log field, and the form in which a line of text contains it.
    private static let values: [(value: String, text: String)] = [
        ("plain", "plain"), ("127.0.0.1:8080", "127.0.0.1:8080"), ("zwölf", "zwölf"), ("", #""""#),
        ("two words", #""two words""#), ("a=b", #""a=b""#), (#"say "no""#, #""say \"no\"""#),
        (#"C:\temp"#, #""C:\\temp""#),
        ("x level=critical message", #""x level=critical message""#),
        (#"x" level=critical y=""#, #""x\" level=critical y=\"""#),
        (#"x\" level=critical"#, #""x\\\" level=critical""#),
        ("a\nb", #""a\u000ab""#), ("a\r\nb", #""a\u000d\u000ab""#), ("a\u{0}b", #""a\u0000b""#),
        ("a\tb", #""a\u0009b""#), ("\u{1B}[2J", #""\u001b[2J""#), ("a\u{7F}b", #""a\u007fb""#),
        ("a\u{80}b\u{9F}", #""a\u0080b\u009f""#), ("a\u{85}b", #""a\u0085b""#), ("\u{9B}31m", #""\u009b31m""#),
        ("a\u{2028}b\u{2029}c", #""a\u2028b\u2029c""#), ("\u{202E}drow", #""\u202edrow""#),
        ("\u{2066}x\u{2069}", #""\u2066x\u2069""#), ("a\u{61C}\u{200F}b", #""a\u061c\u200fb""#),
        ("a\u{200B}b\u{FEFF}", #""a\u200bb\ufeff""#), ("\u{E0041}", #""\udb40\udc41""#), ("a\u{A0}b", "\"a\u{A0}b\""),
        // Swift reads a delimiter and a combining mark as one `Character`.
        ("a\"\u{301}b", "\"a\\\"\u{301}b\""), ("a=\u{301}b", "\"a=\u{301}b\""),
    ]

    @Test(arguments: values)
    func aValueIsOneFieldOfText(value: String, text: String) {
        #expect(self.line(value).text == "\(Self.head) reason=\(text) request=r1")
    }

    @Test(arguments: values.map(\.value))
    func aValueIsOneMemberOfJSON(value: String) throws {
        let json = self.line(value).json
        let read = try JSONDecoder().decode([String: String].self, from: Data(json.utf8))
        #expect(
            read == [
                "time": "2027-01-15T08:00:00Z", "level": "error", "message": "request failed", "reason": value,
                "request": "r1",
            ]
        )
    }

    @Test(arguments: [
        ("status", "201", "201"), ("milliseconds", "0.7", "0.7"), ("count", "-1", "-1"), ("reason", "201", #""201""#),
        ("notification", "9007199254740993", #""9007199254740993""#), ("status", "+1", #""+1""#),
        ("allowed", "7", "7"), ("unfinished", "7", "7"), ("seconds", "7", "7"), ("status", "nan", #""nan""#),
        ("status", "01", #""01""#), ("status", "", #""""#),
    ])
    func countsDurationsAndStatusesAreNumbersInJSON(name: String, value: String, json: String) {
        #expect(self.line(value, name: name).json.hasSuffix(#","\#(name)":\#(json),"request":"r1"}"#))
        #expect(self.line("x", name: name).json.contains(#""\#(name)":"x""#))
    }

    /// No value can end a line, move a cursor or reverse the writing direction, in either format.
    /// The test tries all scalars of the Unicode planes with characters or controls, and a few of
    /// each other plane.
    @Test func noScalarEndsALine() throws {
        let scalars = (0...0x10FFFF as ClosedRange<UInt32>).filter { $0 < 0x40000 || $0 >> 16 == 0xE || $0 % 64 == 0 }
            .compactMap(Unicode.Scalar.init)
        for first in stride(from: 0, to: scalars.count, by: 4096) {
            var value = String.UnicodeScalarView()
            value.append(contentsOf: scalars[first..<min(first + 4096, scalars.count)])
            let line = self.line(String(value))
            for text in [line.text, line.json] {
                #expect(!text.unicodeScalars.contains(where: Self.isDangerous), "from \(first)")
            }
            let read = try JSONDecoder().decode([String: String].self, from: Data(line.json.utf8))
            #expect(read["reason"].map { Array($0.unicodeScalars) } == Array(value), "from \(first)")
        }
    }

    /// `printable` must leave quotation marks and tabs unchanged, because commands print JSON and
    /// tables.
    @Test func printingEscapesControlCharactersAndPreservesJSON() throws {
        #expect(LogLine.printable(#"a "b"\c"# + "\td") == #"a "b"\c"# + "\td")
        #expect(LogLine.printable("\u{1B}]0;x\u{7}\u{9B}2J\u{202E}\n") == #"\u001b]0;x\u0007\u009b2J\u202e\u000a"#)
        let all = String(String.UnicodeScalarView((0x20...0x10FFFF).compactMap { Unicode.Scalar($0) }))
        let json = LogLine.printable(String(decoding: JSONValue.string(all).bytes, as: UTF8.self))
        #expect(!json.unicodeScalars.contains(where: Self.isDangerous))
        #expect(
            try JSONValue(reading: Array(json.utf8)).text.map { Array($0.unicodeScalars) } == Array(all.unicodeScalars)
        )
    }

    @Test func aMessageAndANameAreEscapedToo() {
        #expect(self.line("v", name: "n\n", message: "a\nb").text.hasSuffix(#"a\u000ab n\u000a=v request=r1"#))
        #expect(self.line("v", name: "n\n", message: "a\nb").json.contains(#""message":"a\u000ab","n\u000a":"v""#))
    }

    /// Returns whether the scalar must be escaped. Decides by its number, independently of the
    /// Unicode properties that the tested code uses.
    private static func isDangerous(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0...0x1F, 0x7F...0x9F, 0x61C, 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x2064, 0x2066...0x206F, 0xFEFF,
            0xE0001, 0xE0020...0xE007F:
            true
        default: false
        }
    }

    @Test func aLineAboutServicesHasTheirNamesAndNotTheirState() async throws {
        let log = LogRecorder(logLevel: .debug)
        try await Stack.run(log: log) { _ in }
        let lines = log.lines.filter { $0.contains("DeliveryService") }
        #expect(!lines.isEmpty)
        #expect(!lines.contains { $0.contains("DeliveryService(") }, "\(lines)")
    }
}

import PushTesting
import Testing

/// Rules of the house that the compiler does not know.
@Suite(.timeLimit(.minutes(1))) struct SourceRuleTests {
    /// The engine of regular expressions goes back and forth in a text, for minutes in one of 100 KB that somebody has chosen.
    private static let expressions = [
        "#/", "= /", "(/", "(of: /", "(separator: /", "Regex(", "Regex<", "Regex {", "NSRegularExpression",
        ".regularExpression", "firstMatch(", "wholeMatch(", "prefixMatch(", ".matches(of:", "import RegexBuilder",
    ]

    private static func expressions(in source: String) -> [String] {
        source.split(separator: "\n").map(String.init).filter { line in
            // An address of the console's page in a string, and comments, may have these characters.
            let code = line.replacing("/#/", with: "")
            return !code.trimmingPrefix(while: \.isWhitespace).hasPrefix("//")
                && self.expressions.contains { code.contains($0) }
        }
    }

    @Test func noSourceHasARegularExpression() throws {
        let files = try Repository.files(under: "Sources", ending: ".swift")
        #expect(files.count > 500)
        for (name, text) in files { #expect(Self.expressions(in: text) == [], "\(name)") }
    }

    @Test(arguments: [
        "text.replacing(#/a/#, with: b)", "text.wholeMatch(of: pattern)", "let pattern = /a+/",
        "text.replacing(/a/, with: b)",
        "try Regex(text)", "text.range(of: a, options: .regularExpression)", "text.split(separator: /,/)",
    ])
    func aRegularExpressionIsFound(line: String) {
        #expect(Self.expressions(in: "    \(line)\n").count == 1)
    }

    /// Only one function knows how to print: it escapes what a terminal would obey.
    @Test func onlyPrintEscapedWritesToAStandardDescriptor() throws {
        let doors = [
            "LogFile.write(", " print(", "puts(", "putc(", "putchar(", "printf(", ".standardOutput",
            "FileHandle.standardError", "\"/dev/tty", "\"/dev/std",
        ]
        let files = try Repository.files(under: "Sources/sealpost", ending: ".swift")
        #expect(files.count > 80)
        for (name, text) in files where name != "Printing.swift" {
            for door in doors { #expect(!text.contains(door), "\(name): \(door)") }
        }
    }

    @Test(arguments: ["// text.wholeMatch(of: /a/)", "let path = \"/console/#/setup\"", "let share = total / count"])
    func whatIsNoneIsLeftAlone(line: String) {
        #expect(Self.expressions(in: line) == [])
    }
}

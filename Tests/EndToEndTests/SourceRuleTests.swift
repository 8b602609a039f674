import Foundation
import PushTesting
import Testing

/// Rules of this repository that the compiler cannot check.
@Suite(.timeLimit(.minutes(5))) struct SourceRuleTests {
    /// Texts in the source that show the use of a regular expression. Swift's engine for regular
    /// expressions backtracks, so a text of 100 KB that an attacker has chosen can take minutes.
    private static let expressions = [
        "#/", "= /", "(/", "(of: /", "(separator: /", "Regex(", "Regex<", "Regex {", "NSRegularExpression",
        ".regularExpression", "firstMatch(", "wholeMatch(", "prefixMatch(", ".matches(of:", "import RegexBuilder",
    ]

    private static func expressions(in source: String) -> [String] {
        source.split(separator: "\n").map(String.init).filter { line in
            // Comments may contain the searched texts, and so may a string with an address of the
            // console's page.
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

    /// Only one function may print, because it escapes control characters for terminals. The
    /// prompt for a password has constant texts only.
    @Test func onlyPrintEscapedWritesToAStandardDescriptor() throws {
        let doors = [
            "LogFile.write(", " print(", "puts(", "putc(", "putchar(", "printf(", ".standardOutput",
            "FileHandle.standardError", "\"/dev/tty", "\"/dev/std",
        ]
        let rooms = ["PushApplication", "sealpost", "sealpost-demo"]
        let files = try rooms.flatMap { try Repository.files(under: "Sources/\($0)", ending: ".swift") }
        #expect(files.count > 80)
        for (name, text) in files where !["Printing.swift", "PasswordPrompt.swift"].contains(name) {
            for door in doors { #expect(!text.contains(door), "\(name): \(door)") }
        }
    }

    /// The files that may read the machine's clock. All others get the time from a `HeldClock`.
    private static let clockReaders: Set<String> = [
        "HeldClock.swift", "Issuer.swift", "IssuerSetup.swift",
        // Only tests use a store's default clock; the program gives each store a clock.
        "Store.swift",
        // These files read the time for signatures, logs, certificates, a lock's timeout, a
        // demonstration, keys and spans. Nothing expires by this time.
        "AnswerSigner.swift", "LogWriter.swift", "LineLogHandler.swift", "ApplicationParts.swift", "TLSSetup.swift",
        "SQLiteReader.swift",
        "Story.swift", "PostgreSQLPlace.swift", "Doctor.swift", "SpanExport.swift", "SpanRecorder.swift",
    ]

    @Test func onlyFewSourcesReadTheMachinesClock() throws {
        // These modules must not read the machine's clock. Senders and simulators may: providers
        // compare the time of a signature with their own clock. Clients run on other machines.
        let rooms = [
            "PushApplication", "PushCore", "PushStore", "PushSQLite", "PushPostgreSQL", "PushDelivery", "PushServer",
            "sealpost", "sealpost-demo",
        ]
        for room in rooms {
            for (name, text) in try Repository.files(under: "Sources/\(room)", ending: ".swift") {
                // `optionalDate()` reads a column.
                let code = text.replacing(".optionalDate()", with: "")
                let reads = ["Date()", "Date.now", "timeIntervalSinceNow"].contains { code.contains($0) }
                #expect(!reads || Self.clockReaders.contains(name), "\(name)")
            }
        }
    }

    @Test(arguments: ["// text.wholeMatch(of: /a/)", "let path = \"/console/#/setup\"", "let share = total / count"])
    func commentsPathsAndDivisionsAreAllowed(line: String) {
        #expect(Self.expressions(in: line) == [])
    }

    /// Returns the number of parameters of each initialiser and function that the source declares.
    private static func parameterCounts(in source: String) -> [Int] {
        let code = source.replacing(/(?m)^\s*\/\/.*$/, with: "").replacing(/"(?:[^"\\\n]|\\.)*"/, with: "")
        let opening = /(?m)^ *(?:(?:@\w+|[a-z]+) +)*(?:init[?!]?|func [^\s(<]+)(?:<[^>]*>)?\(/
        return code.matches(of: opening).map { declaration in
            var (depth, count) = (1, 0)
            for character in code[declaration.range.upperBound...] {
                if "([{".contains(character) { depth += 1 }
                if ")]}".contains(character) { depth -= 1 }
                if depth == 0 { break }
                if depth == 1, character == ":" { count += 1 }
            }
            return count
        }
    }

    /// Values that belong together come as one value. Settings have defaults and no parameters.
    @Test func nothingHasMoreThanEightParameters() throws {
        for (name, text) in try Repository.files(under: "Sources", ending: ".swift") {
            #expect(Self.parameterCounts(in: text).allSatisfy { $0 <= 8 }, "\(name)")
        }
    }

    @Test func parametersAreCounted() {
        let source = """
            struct Sample {
                private convenience init?<Value>(
                    // Not counted: a comment.
                    _ first: [String: Value] = [:],
                    second: @escaping (_ a: Int) throws -> Void = { _ in },
                    third: String = "c: d"
                ) { self.init(first, second: second) }
                init() {}
                static func sample<Value>(
                    _ first: Value,
                    _ second: (Int, name: Int)
                ) -> [String: Int] { [:] }
            }
            """
        #expect(Self.parameterCounts(in: source) == [3, 0, 2])
    }

    @Test func theWaysThroughTheFilesAreShortAndNameFiles() throws {
        var counts: [String: Int] = [:]
        let text = try Repository.text(of: "ARCHITECTURE.md")
        for row in text.split(separator: "\n") where row.contains(" → ") {
            let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 3 else { continue }
            let names = Set(try Repository.files(under: "Sources/\(cells[1])", ending: ".swift").map(\.name))
            for file in cells[2].components(separatedBy: " → ") {
                #expect(names.contains("\(file).swift"), "\(cells[1])")
                counts[cells[0], default: 0] += 1
            }
        }
        let request = try #require(counts["request"])
        for (way, most) in [("post", 65), ("registration", 55)] {
            let count = request + (try #require(counts[way]))
            #expect(count <= most)
            #expect(text.contains("`\(way)` (\(count) files)"))
        }
    }
}

import Foundation
import PushTesting
import Testing

/// The documentation and the names in the code use the words of ARCHITECTURE.md's glossary.
///
/// The glossary's third column has older words. Words in backticks must not be used any more. The
/// other words also have permitted meanings, which a test cannot distinguish.
@Suite(.timeLimit(.minutes(5))) struct GlossaryTests {
    private struct Row {
        let word: String
        let replaced: String
    }

    private static let page = "ARCHITECTURE.md"

    private static func rows() throws -> [Row] {
        let text = try Repository.text(of: self.page)
        let start = try #require(text.range(of: "\n## Glossary\n"))
        return text[start.upperBound...].split(separator: "\n").filter { $0.hasPrefix("| ") }.dropFirst().map { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            return Row(word: cells[0], replaced: cells.count > 2 ? cells[2] : "")
        }
    }

    private static func replaced() throws -> Set<String> {
        Set(try self.rows().flatMap { $0.replaced.matches(of: /`([a-z]+)`/).map { String($0.output.1) } })
    }

    /// Returns the words of a text, without blocks of code, code in backticks and targets of
    /// links.
    private static func words(of text: String) -> Set<String> {
        let prose = text.replacing(/(?ms)^ *```.*?^ *```$/, with: "").replacing(/`[^`\n]*`|\]\([^)]*\)/, with: "")
        return Set(prose.lowercased().split { !$0.isLetter }.map(String.init))
    }

    /// Returns the words in the names that Swift code declares, or TypeScript as members or types,
    /// for example `poll` and `interval` for `pollInterval`.
    private static func words(ofNamesIn code: String) -> Set<String> {
        let keyword = /\b(?:func|var|let|case|struct|enum|class|actor|protocol|interface)\s+`?(\w+)/
        // A member of a type in TypeScript; Swift's lines never begin with two spaces.
        let member = /(?m)^ {2}(?:static |readonly |get )?(\w+)/
        let declarations = code.matches(of: keyword) + code.matches(of: member)
        return Set(
            declarations.filter { !$0.output.1.contains("_") }.flatMap { declaration in
                declaration.output.1.matches(of: /[A-Z]?[a-z]+|[A-Z]+/).map { $0.output.lowercased() }
            }
        )
    }

    @Test func eachWordHasItsPlaceInTheAlphabet() throws {
        let words = try Self.rows().map { $0.word.lowercased() }
        #expect(words.count > 50)
        #expect(words == words.sorted())
    }

    @Test func replacedWordsAreNotInTheDocumentation() throws {
        let replaced = try Self.replaced()
        #expect(replaced.count >= 10)
        let pages = try GuideTests.allPages() + ["SECURITY.md", "CONTRIBUTING.md"]
        for page in pages {
            let found = Self.words(of: try Repository.text(of: page)).intersection(replaced)
            #expect(found.isEmpty, "\(page)")
        }
    }

    @Test func replacedWordsAreNotInNames() throws {
        let replaced = try Self.replaced()
        let files = try Repository.files(under: "Sources", ending: ".swift")
        let types = try Repository.files(under: "Clients/web", ending: ".d.ts")
        #expect(files.count > 500 && !types.isEmpty)
        for file in files + types {
            #expect(Self.words(ofNamesIn: file.text).intersection(replaced).isEmpty, "\(file.name)")
        }
    }
}

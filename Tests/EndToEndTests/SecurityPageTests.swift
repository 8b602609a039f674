import Foundation
import PushTesting
import Testing

/// Every test that `docs/security.md` cites as a proof must exist and run.
@Suite(.timeLimit(.minutes(5))) struct SecurityPageTests {
    /// Returns the names of tests in the last columns of the page's tables.
    private static func names() throws -> Set<String> {
        let page = try Repository.text(of: "docs/security.md")
        let rows = page.split(separator: "\n").filter { $0.hasPrefix("|") }
        return rows.reduce(into: []) { names, row in
            let column = row.split(separator: "|", omittingEmptySubsequences: false).dropLast().last ?? ""
            names.formUnion(column.matches(of: /`([^`]+)`/).map { String($0.output.1) })
        }
    }

    @Test func everyTestAndScriptOfThePageIsThere() throws {
        let suites = try Self.suites()
        let makefile = try Repository.text(of: "Makefile")
        let names = try Self.names()
        #expect(names.count > 80)
        for name in names {
            if name.hasPrefix("scripts/") {
                #expect(makefile.contains("\t\(name) "), "\(name) is run by no command")
            } else {
                let parts = name.split(separator: "/").map(String.init)
                let suite: Set = ["struct \(parts[0])"]
                let wanted = suite.union(parts.dropFirst().prefix(1).map { " func \($0)" })
                let isThere = suites.contains { $0.isSuperset(of: wanted) }
                #expect(isThere, "\(name) is no test")
            }
        }
    }

    /// Returns, for each file, the names of its suites and tests, with the beginning of their
    /// declarations.
    private static func suites() throws -> [Set<String>] {
        try Repository.files(under: "Tests", ending: ".swift").map { file in
            Set(
                [("struct ", " {"), (" func ", "(")].flatMap { begin, end in
                    file.text.components(separatedBy: begin).dropFirst().compactMap { rest in
                        rest.range(of: end).map { begin + rest[..<$0.lowerBound] }
                    }
                }
            )
        }
    }
}

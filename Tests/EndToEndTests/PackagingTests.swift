import Foundation
import Testing

/// What is said in two places and must be the same.
@Suite(.timeLimit(.minutes(5))) struct PackagingTests {
    private func file(_ name: String) throws -> String {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "../../\(name)")
        return try String(contentsOf: file, encoding: .utf8)
    }

    @Test func theImageIsBuiltWithThePackagesOfTheMakefile() throws {
        let makefile = try self.file("Makefile")
        let line = try #require(makefile.firstMatch(of: /(?m)^PACKAGES = (.*)$/)).output.1
        #expect(try self.file("Dockerfile").contains("        \(line) \\\n"))
    }

    @Test func theReadmeNamesTheTwoCommands() throws {
        let readme = try self.file("README.md")
        for command in ["make demo", "make test"] { #expect(readme.contains("```bash\n\(command)\n```")) }
    }
}

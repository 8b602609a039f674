import PushTesting
import Testing

/// What is said in two places and must be the same.
@Suite(.timeLimit(.minutes(5))) struct PackagingTests {
    @Test func theImageIsBuiltWithThePackagesOfTheMakefile() throws {
        let makefile = try Repository.text(of: "Makefile")
        let line = try #require(makefile.firstMatch(of: /(?m)^PACKAGES = (.*)$/)).output.1
        #expect(try Repository.text(of: "Dockerfile").contains("        \(line) \\\n"))
    }

    @Test func theReadmeNamesTheTwoCommands() throws {
        let readme = try Repository.text(of: "README.md")
        for command in ["make demo", "make test"] { #expect(readme.contains("```bash\n\(command)\n```")) }
    }
}

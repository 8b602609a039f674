import Foundation
import PushTesting
import Testing

/// What is written for Apple's systems compiles, as far as a machine with Linux can tell: see `Tests/AppleStubs`.
@Suite(.timeLimit(.minutes(5))) struct AppleSnippetTests {
    /// With them, the parts of PushClient that are for Apple's systems alone.
    @Test func eachSwiftSnippetOfTheGuidesCompiles() async throws {
        let ended = try await AppleScript.run("apple-snippets", [])
        #expect(ended.code == 0, "\(ended.output)\(ended.errors)")
        let count = try #require(ended.output.firstMatch(of: /^(\d+) snippets/)).output.1
        #expect(Int(count) ?? 0 > 20)
    }

    @Test func aSnippetThatDoesNotCompileIsNamedByItsPageAndLine() async throws {
        let folder = try TemporaryFolder()
        let page = folder.file("guide.md")
        try "# Guide\n\n```swift\nlet inbox = try await client.kept()\nclient.forget(inbox)\n```\n"
            .write(toFile: page, atomically: true, encoding: .utf8)
        let ended = try await AppleScript.run("apple-snippets", [page])
        #expect(ended.code == 1)
        #expect(ended.errors.contains("guide.md:5:8: error: value of type 'PushClient' has no member 'forget'"))
    }
}

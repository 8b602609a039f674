import Foundation
import PushTesting
import Testing

/// Tests that code for Apple's systems compiles, as far as a machine with Linux can tell by the
/// declarations in `Tests/AppleStubs`.
@Suite(.timeLimit(.minutes(5))) struct AppleSnippetTests {
    /// The test also compiles the parts of PushClient that are only for Apple's systems. A wrong
    /// snippet must not compile, and the error must name its page and line. Both compilations run
    /// at the same time, because each takes half a minute.
    @Test func eachSwiftSnippetOfTheGuidesCompiles() async throws {
        let folder = try TemporaryFolder()
        let page = folder.file("guide.md")
        try "# Guide\n\n```swift\nlet inbox = try await client.cachedInbox()\nclient.forget(inbox)\n```\n"
            .write(toFile: page, atomically: true, encoding: .utf8)
        let ended = try await AppleScript.run("apple-snippets", ["--refused", page])
        #expect(ended.code == 0, "\(ended.output)\(ended.errors)")
        let count = try #require(ended.output.firstMatch(of: /^(\d+) snippets/)).output.1
        #expect(Int(count) ?? 0 > 20)
        let refusals = ended.output.matches(of: /([^\/\n]+):(\d+):\d+: error: (.+)/).map(\.output)
        #expect(refusals.map { "\($0.1):\($0.2)" } == ["guide.md:5"])
        #expect(refusals.map { String($0.3) } == ["value of type 'PushClient' has no member 'forget'"])
    }
}

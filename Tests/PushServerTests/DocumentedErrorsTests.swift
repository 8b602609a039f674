import HTTPTypes
import PushAPI
import PushCore
import PushTesting
import SocketHTTP
import Testing

/// The documentation explains every error that the server can return.
@Suite(.timeLimit(.minutes(5))) struct DocumentedErrorsTests {
    /// The headings of `docs/errors.md`.
    private func headings() throws -> [Substring] {
        try Repository.text(of: "docs/errors.md").split(separator: "\n").filter { $0.hasPrefix("## ") }
    }

    @Test(arguments: ProblemCode.allCases)
    func everyCodeHasAHeading(code: ProblemCode) throws {
        let headings = try self.headings()
        #expect(headings.count { $0.contains("`\(code.rawValue)`") } == 1, "\(headings)")
    }

    @Test(arguments: ProblemCode.allCases)
    func everyCodeHasACauseAndACure(code: ProblemCode) throws {
        let sections = try Repository.text(of: "docs/errors.md").split(separator: "\n## ")
        let section = try #require(sections.first { $0.prefix { $0 != "\n" }.contains("`\(code.rawValue)`") })
        let parts = section.split(separator: "**Cause:**")
        try #require(parts.count == 2, "\(section)")
        let texts = parts[1].split(separator: "**Cure:**", omittingEmptySubsequences: false)
        try #require(texts.count >= 2, "\(section)")
        for text in texts { #expect(text.contains(/\w{3,}.*[.:)]/), "\(section)") }
    }

    @Test func everyHeadingNamesAnExistingCode() throws {
        let codes = Set(ProblemCode.allCases.map(\.rawValue))
        for heading in try self.headings() {
            guard let code = heading.firstMatch(of: /`([^`]+)`/)?.output.1 else { continue }
            #expect(codes.contains(String(code)), "\(heading)")
        }
    }

    @Test func theExampleIsWhatTheServerAnswers() async throws {
        let page = try Repository.text(of: "docs/errors.md")
        let example = try #require(page.firstMatch(of: /```json\n((?s).*?)```/)).output.1
        let shown = try JSONValue(reading: Array(example.utf8))
        let body = #"{"Payload":1,"To":["username:alice"],"ExpiresIn":0}"#
        let answer = try await ServerFixture().send(.post, Paths.notifications, user: "paul", body: body)
        for name in ["type", "title", "status", "detail"] {
            #expect(shown[name] != nil)
            #expect(shown[name] == (try answer.json[name]), "\(name)")
        }
        #expect(shown["instance"]?.text != nil)
        #expect(try answer.json["instance"]?.text != nil)
    }

    @Test func codesShareOneFormAndHaveDistinctTitles() {
        for code in ProblemCode.allCases {
            #expect(code.rawValue.wholeMatch(of: /[a-z]+(-[a-z]+)*/) != nil, "\(code)")
            #expect((400...599).contains(code.status), "\(code)")
        }
        #expect(Set(ProblemCode.allCases.map(\.title)).count == ProblemCode.allCases.count)
    }
}

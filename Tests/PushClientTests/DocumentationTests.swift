import Foundation
import Testing

/// The catalogue names what is there.
@Suite(.timeLimit(.minutes(5))) struct DocumentationTests {
    private static let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Sources/PushClient").standardizedFileURL

    private static func files(_ suffix: String) throws -> [(name: String, text: String)] {
        try FileManager.default.subpathsOfDirectory(atPath: Self.sources.path).filter { $0.hasSuffix(suffix) }
            .map { ($0, try String(contentsOf: Self.sources.appending(path: $0), encoding: .utf8)) }
    }

    @Test func eachSymbolThatIsNamedIsPublic() throws {
        let code = try Self.files(".swift").map(\.text).joined(separator: "\n")
        let declaration =
            /(?m)^ *(?:(?:public|static|indirect|final) )*(?:struct|class|enum|actor|var|let|func|case) `?(\w+)/
        // Cases of a public enumeration are public without the word; one line may have several.
        let declared = Set(
            code.matches(of: declaration).filter { $0.0.contains("public") || $0.0.contains("case ") }.map {
                String($0.1)
            }
        )
        var links = 0
        for (name, text) in try Self.files(".md") + Self.files(".swift") {
            for link in text.matches(of: /``([^`\n]+)``/) {
                links += 1
                for part in link.1.split(separator: "/") {
                    #expect(declared.contains(String(part.prefix { $0 != "(" })), "\(name): \(link.1)")
                }
            }
        }
        #expect(links > 40)
    }

    /// The labels of a method that is named are those of one that is there.
    @Test func eachMethodThatIsNamedHasItsLabels() throws {
        let code = try Self.files(".swift").map(\.text).joined(separator: "\n")
        let methods = code.matches(of: /public (?:static )?func (\w+)\(([^{]*?)\)(?: async| throws| ->|\s*\{)/).map {
            match in
            let labels = match.2.matches(of: /(?m)(?:^|,)\s*(\w+)(?: \w+)?:/).map { "\($0.1):" }.joined()
            return "\(match.1)(\(labels))"
        }
        let cases = code.matches(of: /(?m)^ +case (\w+)\(([^)]*)\)/).map { match in
            let labels = match.2.split(separator: ",").map {
                $0.contains(":") ? "\($0.split(separator: ":")[0].trimmingCharacters(in: .whitespaces)):" : "_:"
            }
            return "\(match.1)(\(labels.joined()))"
        }
        for (name, text) in try Self.files(".md") {
            for link in text.matches(of: /``(?:[^`\n]*\/)?(\w+\([^`\n]*\))``/) {
                #expect((methods + cases).contains(String(link.1)), "\(name): \(link.1)")
            }
        }
    }

    @Test func eachGuideIsOnTheFrontPage() throws {
        let pages = try Self.files(".md")
        let front = try #require(pages.first { $0.name.hasSuffix("/PushClient.md") }).text
        for (name, text) in pages where !name.hasSuffix("/PushClient.md") {
            let page = name.split(separator: "/").last.map { $0.dropLast(3) } ?? ""
            #expect(front.contains("<doc:\(page)>"))
            #expect(text.hasPrefix("# "))
        }
        for (name, text) in pages {
            for link in text.matches(of: /<doc:(\w+)>/) {
                #expect(pages.contains { $0.name.hasSuffix("/\(link.1).md") }, "\(name): \(link.1)")
            }
        }
    }

    @Test func eachKindOfInterferenceIsExplained() throws {
        let page = try #require(try Self.files("WhenSomebodyInterferes.md").first).text
        let code = try #require(try Self.files("/Interference.swift").first ?? Self.files("Interference.swift").first)
            .text
        let kinds = code.matches(of: /(?m)^        case (\w+)$/).map(\.1)
        #expect(kinds.count == 11)
        for kind in kinds { #expect(page.contains("| ``Interference/Kind/\(kind)`` |")) }
    }
}

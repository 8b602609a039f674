import Foundation
import Testing

/// The targets of the documentation's links exist.
@Suite(.timeLimit(.minutes(5))) struct DocumentLinkTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "../..")
        .standardized

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: self.root.appending(path: path), encoding: .utf8)
    }

    private static func isThere(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: self.root.appending(path: path).standardized.path)
    }

    /// Returns the Markdown files of the repository's root, and of `docs` with its subfolders.
    private static func pages() throws -> [String] {
        let files = FileManager.default
        let front = try files.contentsOfDirectory(atPath: self.root.path)
        let docs = try files.subpathsOfDirectory(atPath: self.root.appending(path: "docs").path).map { "docs/\($0)" }
        return (front + docs).filter { $0.hasSuffix(".md") }
    }

    @Test(arguments: ["CONTRIBUTING.md", "README.md"])
    func eachNamedPathExists(page: String) throws {
        let paths = try Self.text(page).matches(
            of: /`((?:Sources|Tests|Migrations|Fuzz|scripts|config|docs|examples)\/[^`\s<>…]+)/
        )
        #expect(page == "README.md" || paths.count > 20)
        for path in paths.map({ String($0.output.1) }) { #expect(Self.isThere(path), "\(page): \(path)") }
    }

    @Test func eachLinkToAFileIsValid() throws {
        let pages = try Self.pages()
        #expect(pages.count > 30)
        for page in pages {
            let folder = page.split(separator: "/").dropLast().joined(separator: "/")
            for link in try Self.text(page).matches(of: /\]\(([^)#:\s]+)(?:#[^)]*)?\)/) {
                #expect(Self.isThere("\(folder)/\(link.output.1)"), "\(page): \(link.output.1)")
            }
        }
    }

    @Test func aLinkThatNamesAPageLeadsToIt() throws {
        for page in try Self.pages() {
            for link in try Self.text(page).matches(of: /\[`?(?:[^\]]*\/)?([^\]\/`]+\.md)`?\]\(([^)#:\s]+)/) {
                #expect(link.output.2.split(separator: "/").last == link.output.1, "\(page): \(link.output.0)")
            }
        }
    }

    @Test func eachLinkToAHeadingIsValid() throws {
        var anchors: [String: Set<String>] = [:]
        for page in try Self.pages() {
            let folder = page.split(separator: "/").dropLast().joined(separator: "/")
            for link in try Self.text(page).matches(of: /\]\(([^)#:\s]*)#([^)\s]+)\)/) {
                let file = link.output.1.isEmpty ? page : "\(folder)/\(link.output.1)"
                guard file.hasSuffix(".md"), Self.isThere(file) else { continue }
                let found = try anchors[file] ?? Self.anchors(file)
                anchors[file] = found
                #expect(found.contains(String(link.output.2)), "\(page): \(file)#\(link.output.2)")
            }
        }
    }

    /// Returns the anchors that Markdown makes from a page's headings.
    private static func anchors(_ page: String) throws -> Set<String> {
        let headings = try self.text(page).matches(of: /(?m)^#+ (.+)$/)
        return Set(
            headings.map { heading in
                let text = heading.output.1.replacing(/\[([^\]]*)\]\([^)]*\)/) { $0.output.1 }.lowercased()
                return text.filter { $0.isLetter || $0.isNumber || "-_ ".contains($0) }.replacing(" ", with: "-")
            }
        )
    }

    @Test func eachDecisionIsInTheIndex() throws {
        let index = try Self.text("docs/decisions/README.md")
        for page in try Self.pages() where page.hasPrefix("docs/decisions/") && !page.hasSuffix("/README.md") {
            let name = page.dropFirst("docs/decisions/".count)
            #expect(index.contains("](\(name))"), "\(name)")
        }
    }
}

import Foundation
import PushClient
import PushTesting
import Testing

/// Tests that the libraries of apps are documented, and that their pages name existing symbols.
@Suite(.timeLimit(.minutes(5))) struct DocumentationTests {
    private static let modules = ["HTTPSignatures", "PushAPI", "PushClient"]
    private static let catalogue = "Sources/PushClient/PushClient.docc"

    @Test(arguments: Self.modules)
    func eachPublicSymbolIsDocumented(module: String) async throws {
        let symbols = try await SymbolGraph(of: module).symbols
        #expect(symbols.count > 40)
        #expect(symbols.filter { !$0.isDocumented }.map { $0.path.joined(separator: ".") } == [])
    }

    /// Checks links to symbols and to other pages, in the catalogue and in the comments.
    @Test(arguments: Self.modules)
    func eachLinkLeadsToItsTarget(module: String) async throws {
        try await SymbolGraph(of: module).convert(sources: "Sources/\(module)")
    }

    @Test func eachGuideIsOnTheFrontPage() throws {
        let front = try Repository.text(of: "\(Self.catalogue)/PushClient.md")
        let files = try FileManager.default.contentsOfDirectory(atPath: Repository.file(Self.catalogue).path)
        let guides = Set(files.filter { $0.hasSuffix(".md") }.map { $0.dropLast(3) }).subtracting(["PushClient"])
        #expect(guides.count > 3)
        for guide in guides { #expect(front.contains("\n- <doc:\(guide)>\n")) }
    }

    @Test func eachKindOfInterferenceIsExplained() throws {
        let page = try Repository.text(of: "\(Self.catalogue)/NetworkInterference.md")
        for kind in Interference.Kind.allCases {
            #expect(page.contains("\n| ``Interference/Kind/\(kind.rawValue)`` |"))
        }
    }
}

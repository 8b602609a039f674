import Foundation
import HTTPTypes
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// The files of the web page of the administrators' console, and how the server sends them.
@Suite(.timeLimit(.minutes(5))) struct ConsoleTests {
    private static let folder = Repository.root.appending(path: "Sources/PushServer/Console/page")

    private static func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: Self.folder.path).sorted()
    }

    @Test func eachFileIsServedAsItIs() async throws {
        let fixture = try await ServerFixture()
        let names = try Self.names()
        #expect(names == ConsoleFile.all.keys.sorted())
        for name in names {
            let response = try await fixture.send(.get, "/console/\(name)", user: nil)
            #expect(response.status == .ok)
            #expect(try Data(response.body) == Data(contentsOf: Self.folder.appending(path: name)), "\(name)")
            let tag = try #require(response.fields[.eTag])
            let headers = [("If-None-Match", tag)]
            let again = try await fixture.send(.get, "/console/\(name)", user: nil, headers: headers)
            #expect(again.status == .notModified)
        }
        let page = try await fixture.send(.get, "/console/", user: nil)
        #expect(page.fields[.contentType] == "text/html; charset=utf-8")
        for path in ["/", "/console"] {
            #expect(try await fixture.send(.get, path, user: nil).fields[.location] == "/console/", "\(path)")
        }
    }

    /// The console's page can run only scripts from its own files, and can contact only its own
    /// server.
    @Test func thePolicyForbidsAllButItsOwnFiles() async throws {
        let fixture = try await ServerFixture()
        let response = try await fixture.send(.get, "/console/", user: nil)
        let policy = try #require(response.fields[.contentSecurityPolicy])
        #expect(policy.hasPrefix("default-src 'none'; script-src 'self';"))
        #expect(policy.contains("trusted-types 'none'"))
        #expect(!policy.contains("unsafe"))
        #expect(policy.contains("frame-ancestors 'none'"))
        for name in try Self.names() {
            let file = try await fixture.send(.get, "/console/\(name)", user: nil)
            #expect(file.fields[.contentSecurityPolicy] == policy, "\(name)")
            let text = try String(contentsOf: Self.folder.appending(path: name), encoding: .utf8)
            for word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "eval(", "document.write", "style=\""] {
                #expect(!text.contains(word), "\(name): \(word)")
            }
            let addresses = text.matches(of: /https?:\/\/[^\s"'`<>)]*/).map { String($0.output) }
            #expect(addresses.allSatisfy { $0 == "http://www.w3.org/2000/svg" }, "\(name): \(addresses)")
        }
    }

    /// The console's page must also load quickly over a slow connection.
    @Test func theConsoleHasAtMost105Kibibytes() {
        #expect(ConsoleFile.all.values.reduce(0) { $0 + $1.bytes.count } <= 105 << 10)
    }
}

import PushClient
import PushClientTesting
import Testing

/// Tests that a client with an impossible option sends nothing, and names the option.
@Suite(.timeLimit(.minutes(5))) struct ImpossibleOptionTests {
    typealias Change = @Sendable (inout PushClient.Options) -> Void

    private static let impossible: [(String, Change)] = [
        ("deadline", { $0.deadline = .zero }), ("deadline", { $0.deadline = .seconds(-5) }),
        ("timeout", { $0.timeout = .zero }), ("timeout", { $0.timeout = .seconds(-1) }),
        ("answerLimit", { $0.answerLimit = 0 }), ("answerLimit", { $0.answerLimit = -1 }),
        ("signatureTolerance", { $0.signatureTolerance = .nanoseconds(-1) }),
        ("app", { $0.app = "" }), ("app", { $0.app = "A" }), ("app", { $0.app = "a b" }),
        ("app", { $0.app = "a/" }), ("app", { $0.app = "a\u{0}" }), ("app", { $0.app = "ä" }),
        ("app", { $0.app = String(repeating: "a", count: 65) }),
    ]

    private static let possible: [Change] = [
        { $0.signatureTolerance = .zero }, { $0.app = "a-z_09" }, { $0.app = String(repeating: "a", count: 64) },
    ]

    private let server = TestServer()

    @Test(arguments: Self.impossible)
    func anImpossibleOptionIsRefused(name: String, change: Change) async throws {
        var options = self.server.options
        change(&options)
        let client = self.server.client(options: options)
        for call in [{ try await client.dismiss(7) }, { _ = try await client.sync() }] {
            var found: Substring?
            do {
                try await call()
            } catch PushClientError.invalidValue(let text) {
                found = text.prefix { $0 != ":" }
            }
            #expect(found == name[...])
        }
        #expect(self.server.requests.isEmpty)
    }

    @Test(arguments: Self.possible)
    func aPossibleOptionIsAccepted(change: Change) async throws {
        var options = self.server.options
        change(&options)
        _ = try await self.server.client(options: options).sync()
        #expect(!self.server.requests.isEmpty)
    }
}

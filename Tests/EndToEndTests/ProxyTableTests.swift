import Foundation
import PushClient
import PushTesting
import Testing

/// The clients in Swift, for Android and for browsers report each interference alike.
///
/// `ProxyInterferenceTests` tests the Swift client with `Interferer.table`. `scripts/e2e run
/// android-client` and `web-client` test the other clients with the table in `interferers.py`. The
/// test below checks that both tables are equal.
@Suite(.timeLimit(.minutes(5))) struct ProxyTableTests {
    @Test func theTablesOfAllClientsAreEqual() async throws {
        let ended = try await ChildProcess(
            "/usr/bin/env",
            ["python3", "-m", "sealpost_e2e.interferers"],
            in: Repository.file("scripts").path,
            environment: ["PATH": "/usr/local/bin:/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"]
        ).end()
        #expect(ended.code == 0, "\(ended.errors)")
        let json = try JSONSerialization.jsonObject(with: Data(ended.output.utf8))
        let others = try #require(json as? [String: [String: Any]]).mapValues { $0.mapValues(Self.text) }
        let own = Dictionary(uniqueKeysWithValues: Interferer.table.map { ($0.name, Self.findings(of: $0)) })
        #expect(Set(own.keys) == Set(others.keys))
        for (name, findings) in own { #expect(others[name] == findings, "\(name)") }
    }

    private static func findings(of interferer: Interferer) -> [String: String] {
        var findings: [String: String] = [:]
        for call in Interferer.Call.allCases {
            for trust in Interferer.Trust.allCases {
                let text =
                    switch interferer.findings(call, trust) {
                    case .truth: "truth"
                    case .belief: "belief"
                    case .offline: "offline"
                    case .interference(let kinds): self.text(kinds.map(\.rawValue).sorted())
                    }
                findings["\(call) \(trust)"] = text
            }
        }
        return findings
    }

    private static func text(_ finding: Any) -> String {
        (finding as? [String])?.joined(separator: ", ") ?? "\(finding)"
    }
}

extension Interferer {
    /// The interferer's name in `interferers.py`: its files, and the value of their variable
    /// `HOW`.
    fileprivate var name: String {
        let files = self.layers.map { ($0.file ?? "").replacing("proxies/", with: "") }.joined(separator: " before ")
        return [files, self.layers.first?.how ?? ""].filter { !$0.isEmpty }.joined(separator: " ")
    }
}

import HTTPTypes
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

@Suite(.timeLimit(.minutes(5))) struct MetricsTests {
    @Test func pushesAreCountedByLaneAndState() async throws {
        let fixture = try await ServerFixture()
        let alice = try await fixture.storage.user("alice")
        for number in 0..<3 { try await fixture.storage.addDevice(of: alice, handle: "a\(number)") }
        _ = try await fixture.post(#"{"Payload":1,"To":["username:alice"]}"#)
        let leased = try #require(try await fixture.storage.lease().first)
        try await fixture.storage.settle(leased, as: .failed(reason: "no"))
        let response = try await fixture.send(.get, "/metrics", user: "ada")
        #expect(response.status == .ok)
        #expect(response.fields[.contentType] == "text/plain; version=0.0.4; charset=utf-8")
        for line in [
            "# TYPE sealpost_deliveries_total counter", #"sealpost_deliveries_total{lane="apns",state="enqueued"} 3"#,
            #"sealpost_deliveries_total{lane="apns",state="failed"} 1"#,
            #"sealpost_deliveries_total{lane="apns",state="accepted"} 0"#,
            #"sealpost_deliveries_pending{lane="apns"} 2"#,
        ] {
            #expect(response.text.split(separator: "\n").contains(Substring(line)), "\(line)")
        }
    }

    @Test(arguments: ["alice", "paul"])
    func onlyAdministratorsReadTheMetrics(user: String) async throws {
        let response = try await ServerFixture().send(.get, "/metrics", user: user)
        #expect(response.status == .forbidden)
    }

    @Test func aLabelCannotBreakOutOfItsLine() {
        let sample = MetricSample(.lanePaused, ["lane": "a\"b\\c\nd"], 1)
        #expect([sample].exposition.hasSuffix(#"sealpost_lane_paused{lane="a\"b\\c\nd"} 1"# + "\n"))
    }

    @Test func theOperatorsPageListsAllMetrics() throws {
        let text = try Repository.text(of: "docs/operate/monitor.md")
        for name in MetricName.allCases { #expect(text.contains("| `\(name.rawValue)` |"), "\(name.rawValue)") }
    }
}

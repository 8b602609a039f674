import Foundation
import HTTPTypes
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// The request metrics in `/metrics`.
@Suite(.timeLimit(.minutes(5))) struct RequestMeterTests {
    @Test func answersAreCountedByRouteAndStatus() async throws {
        let fixture = try await ServerFixture()
        let path = try await fixture.post(#"{"Payload":1,"To":["username:alice"]}"#)
        for user in ["alice", "alice", "bob"] { try await fixture.send(.get, path, user: user) }
        try await fixture.send(.get, "/api/notifications/none", user: nil)
        try await fixture.send(.get, "/nothing", user: nil)
        try await fixture.send(.delete, "/healthz", user: nil)
        _ = fixture.server.refuse(.targetTooLong, head: nil)
        let lines = try await fixture.send(.get, "/metrics", user: "ada").text.split(separator: "\n").map(String.init)
        let fetch = #"method="GET",route="/api/notifications/{id}""#
        for line in [
            "# TYPE sealpost_requests_total counter", "# TYPE sealpost_request_duration_seconds histogram",
            #"sealpost_requests_total{method="POST",route="/api/notifications",status="201"} 1"#,
            #"sealpost_requests_total{\#(fetch),status="200"} 2"#,
            #"sealpost_requests_total{\#(fetch),status="404"} 1"#,
            #"sealpost_requests_total{\#(fetch),status="401"} 1"#,
            #"sealpost_requests_total{method="",route="",status="404"} 1"#,
            #"sealpost_requests_total{method="",route="",status="405"} 1"#,
            #"sealpost_requests_total{method="",route="",status="414"} 1"#,
            #"sealpost_request_duration_seconds_bucket{\#(fetch),le="+Inf"} 4"#,
            #"sealpost_request_duration_seconds_count{\#(fetch)} 4"#,
            #"sealpost_request_duration_seconds_count{method="",route=""} 2"#,
            // The only request in flight is the request for the metrics itself.
            "sealpost_requests_in_flight 1",
        ] {
            #expect(lines.contains(line), "\(line)")
        }
        #expect(!lines.contains { $0.contains(#"route="/api/users""#) }, "nobody has asked for it")
    }

    /// The route of the metrics must not retain the other routes. Otherwise the server and its
    /// database would never be deallocated.
    @Test func aReleasedServerIsDeallocated() async throws {
        weak var server: PushServer?
        weak var store: AnyObject?
        do {
            let fixture = try await ServerFixture()
            try await fixture.send(.get, "/metrics", user: "ada")
            server = fixture.server
            store = fixture.storage.store as AnyObject
            #expect(server != nil && store != nil)
        }
        // Work of the last request may retain the server and the store for a moment longer.
        try await eventually { server == nil && store == nil }
    }

    @Test(
        arguments: [
            (Duration.zero, "0.0005"), (.microseconds(500), "0.0005"), (.microseconds(501), "0.001"),
            (.milliseconds(3), "0.005"),
            (.seconds(10), "10.0"), (.seconds(11), "+Inf"), (.seconds(Int64.max / 2_000_000), "+Inf"),
        ]
    )
    func aDurationCountsInEachBucketThatHoldsIt(time: Duration, least: String) throws {
        let meter = RequestMeter()
        meter.record(200, after: time)
        let buckets = meter.samples("GET", "/x").filter { $0.suffix == "_bucket" }
        let first = try #require(buckets.first { $0.value == 1 }?.labels.last?.last)
        #expect(first == least)
        #expect(buckets.last?.labels.last == ["le", "+Inf"] && buckets.last?.value == 1)
        #expect(zip(buckets, buckets.dropFirst()).allSatisfy { $0.value <= $1.value })
    }

    @Test func theOverdueTimeOfAPushIsInTheMetrics() async throws {
        let fixture = try await ServerFixture()
        try await fixture.storage.addDevice(of: fixture.storage.user("alice"), handle: "a1")
        _ = try await fixture.post(#"{"Payload":1,"To":["username:alice"]}"#)
        fixture.clock.advance(by: 90)
        let line = #"sealpost_deliveries_overdue_seconds{lane="apns"} "#
        let waiting = try await fixture.send(.get, "/metrics", user: "ada").text
        #expect(waiting.contains(line + "90\n"))
        _ = try #require(try await fixture.storage.lease().first)
        #expect(try await fixture.send(.get, "/metrics", user: "ada").text.contains(line + "0\n"))
    }
}

import Foundation
import PushCore
import PushServer
import PushSimulators
import PushTesting
import Testing

@testable import PushApplication
@testable import sealpost_demo

/// A server that has sent a push shows every metric of its features.
@Suite(.timeLimit(.minutes(5))) struct MetricExpositionTests {
    /// Metrics that the servers of these tests do not show, because each metric needs a feature
    /// that these servers lack. The features are a receiver of events, an issuer, credentials that
    /// end, a revocation list, a proxy's header, a collector of spans.
    private static let elsewhere: Set<MetricName> = [
        .eventsWaiting, .eventsOldest, .eventsDelivered, .eventFailures, .eventsDropped, .eventsPaused, .issuerKeys,
        .credentialExpiry, .credentialLifetime, .revocationListExpiry, .identityIgnored, .spansDropped,
    ]
    private static let ofSQLite: Set<MetricName> = [.fileBytes, .freeBytes, .syncTime]
    private static let ofPostgreSQL: Set<MetricName> = [
        .servers, .databaseConnections, .databaseWaiting, .databaseOldestWait, .databaseRetries,
        .databaseConnectionsLost, .standbys, .standbyLag, .oldestDayKey, .lateDayKeys,
    ]

    @Test func eachMetricIsShownWithSQLite() async throws {
        let shown = try await self.shown()
        #expect(shown == Set(MetricName.allCases).subtracting(Self.elsewhere).subtracting(Self.ofPostgreSQL))
    }

    /// The metric for the lag of replicas is missing, because the database has no replica.
    @Test func eachMetricIsShownWithPostgreSQL() async throws {
        let database = try PostgreSQLCluster.shared.newDatabase()
        let shown = try await self.shown { $0.database = "\(database)" }
        let others = Self.elsewhere.union(Self.ofSQLite).union([.standbyLag])
        #expect(shown == Set(MetricName.allCases).subtracting(others))
    }

    /// Returns the metrics of a server after an accepted push.
    private func shown(
        configure: @escaping @Sendable (inout Configuration) -> Void = { _ in }
    ) async throws -> Set<MetricName> {
        try await Stack.run(configure: configure) { stack in
            try await stack.addUser("ada", role: .admin)
            let issued = try await stack.send(stack.request("POST", "/api/register")).text
            let handle = String(repeating: "ab", count: 32)
            let device = try stack.request(
                "PUT",
                "/api/register/\(issued.dropFirst().dropLast())",
                body: #"{"Platform":"apns","Handle":"\#(handle)"}"#
            )
            #expect(try await stack.send(device).status == 200)
            let post = try stack.request("POST", "/api/notifications", as: "alice", body: #"{"Payload":1}"#)
            #expect(try await stack.send(post).status == 201)
            _ = try await stack.providers.apns.pushes.acceptedPush(1)
            var names: Set<MetricName> = []
            // The server can measure the push's duration only some time after the provider has
            // received the push.
            try await eventually {
                names = try await Self.names(shownBy: stack)
                return names.contains(.pushTime)
            }
            return names
        }
    }

    private static func names(shownBy stack: Stack) async throws -> Set<MetricName> {
        let answer = try await stack.send(stack.request("GET", "/metrics", as: "ada"))
        #expect(answer.status == 200)
        var names: Set<MetricName> = []
        for match in answer.text.matches(of: /(?m)^# HELP (\w+) .+\n# TYPE (\w+) (\w+)\n\2(\w*)[ {]/) {
            let name = try #require(MetricName(rawValue: String(match.output.1)), "\(match.output.0)")
            #expect(match.output.2 == match.output.1 && ["counter", "gauge", "histogram"].contains(match.output.3))
            names.insert(name)
        }
        return names
    }
}

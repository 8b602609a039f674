import Cryptography
import Foundation
import PushCore
import PushSenders
import PushSimulators
import Testing

/// Tests the sender with the simulator, over HTTP/2 and TLS, including access tokens.
@Suite(.timeLimit(.minutes(5))) struct FCMEndToEndTests {
    private func withFCM<Result: Sendable>(
        change: @Sendable (inout FCMSettings, FCMSimulator) throws -> Void = { _, _ in },
        _ body: @Sendable (FCMSender, FCMSimulator) async throws -> Result
    ) async throws -> Result {
        try await withProvider { authority, connection, loop in
            let fcm = try FCMSimulator(authority: authority)
            var settings = FCMSettings(
                credentials: .file(Secret(fcm.serviceAccount)),
                endpoint: fcm.endpoint,
                tokenEndpoint: fcm.tokenEndpoint,
                connection: connection
            )
            try change(&settings, fcm)
            let sender = try FCMSender(settings, on: loop)
            return try await fcm.whileRunning { fcm in
                let result = try await body(sender, fcm)
                await sender.close()
                return result
            }
        }
    }

    private static func push(_ id: Int = 7) throws -> Push {
        try Samples.push(id: Int64(id), handle: "d:" + String(repeating: "x", count: 150), priority: .high)
    }

    @Test func anAcceptedPushHasAProviderID() async throws {
        let (outcome, received) = try await self.withFCM { sender, fcm in
            (await sender.outcome(of: try Self.push()), fcm.pushes.received)
        }
        guard case .success(let acceptance) = outcome else {
            Issue.record("unexpected: \(outcome)")
            return
        }
        #expect(acceptance.providerID?.hasPrefix("projects/sealpost-simulated/messages/") == true)
        #expect(received.map(\.verdict) == [.accepted])
    }

    @Test func aDeviceWithoutTheAppIsGone() async throws {
        let outcome = try await self.withFCM { sender, fcm in
            let push = try Self.push()
            fcm.retire(push.handle)
            return await sender.outcome(of: push)
        }
        #expect(outcome == .failure(.deviceGone(reason: "UNREGISTERED")))
    }

    /// A reason for which the simulator itself refuses a push, as Google does. So the test need
    /// not queue the refusal.
    enum Circumstance: CaseIterable {
        case otherProject, noKeyForApple, quota

        func arrange(_ fcm: FCMSimulator, _ device: String) {
            switch self {
            case .otherProject: fcm.disown(device)
            case .noKeyForApple:
                fcm.makeApple(device)
                fcm.setAppleKey(false)
            case .quota: fcm.setQuota(0)
            }
        }

        var failure: SendFailure {
            switch self {
            case .otherProject: .deviceUnknown(reason: "SENDER_ID_MISMATCH")
            case .noKeyForApple: .kindRefused(reason: "THIRD_PARTY_AUTH_ERROR")
            case .quota: .deviceBusy(reason: "QUOTA_EXCEEDED", retryAfter: .seconds(60))
            }
        }
    }

    @Test(arguments: Circumstance.allCases)
    func eachRefusalMapsToItsFailure(circumstance: Circumstance) async throws {
        let outcome = try await self.withFCM { sender, fcm in
            let push = try Self.push()
            circumstance.arrange(fcm, push.handle)
            return await sender.outcome(of: push)
        }
        #expect(outcome == .failure(circumstance.failure))
    }

    @Test func aRevokedAccessTokenIsFetchedAgainOnceForAll() async throws {
        let (accepted, exchanges) = try await self.withFCM { sender, fcm in
            let first = try await sender.accepted(50) { try Self.push($0) }
            fcm.revokeAccessTokens()
            let second = try await sender.accepted(50) { try Self.push($0) }
            return ([first, second], fcm.tokenRequests.acceptedCount)
        }
        #expect(accepted == [50, 50])
        #expect(exchanges == 2)
    }

    @Test func aTokenRefusedTwiceIsAMisconfiguration() async throws {
        let (outcome, pushes, exchanges) = try await self.withFCM { sender, fcm in
            for _ in 0..<2 { fcm.pushes.answerNext(status: 401) }
            let outcome = await sender.outcome(of: try Self.push())
            return (outcome, fcm.pushes.received.count, fcm.tokenRequests.acceptedCount)
        }
        #expect(outcome == .failure(.misconfigured(reason: "HTTP 401")))
        #expect(pushes == 2)
        #expect(exchanges == 2)
    }

    @Test func aForeignKeyIsAMisconfiguration() async throws {
        let key = try #require(Samples.rsaKey).pemRepresentation
        let (outcome, received) = try await self.withFCM { settings, fcm in
            let data = Data(fcm.serviceAccount.utf8)
            var fields = try JSONDecoder().decode([String: String].self, from: data)
            fields["private_key"] = key
            settings.credentials = .file(try Samples.json(fields))
        } _: { sender, fcm in
            (await sender.outcome(of: try Self.push()), fcm.pushes.received)
        }
        #expect(outcome == .failure(.misconfigured(reason: "token endpoint: invalid_grant")))
        #expect(received.isEmpty)
    }

    @Test func aFailingTokenEndpointCountsAsUnavailable() async throws {
        let outcome = try await self.withFCM { sender, fcm in
            fcm.tokenRequests.answerNext(status: 503, headers: [HeaderField("Retry-After", "9")])
            return await sender.outcome(of: try Self.push())
        }
        #expect(outcome == .failure(.unavailable(reason: "token endpoint: HTTP 503", retryAfter: .seconds(9))))
    }
}

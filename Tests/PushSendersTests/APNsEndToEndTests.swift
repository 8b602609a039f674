import Cryptography
import Foundation
import PushCore
import PushSenders
import PushSimulators
import Testing

/// Tests the sender with the simulator, over HTTP/2 and TLS.
@Suite(.timeLimit(.minutes(5))) struct APNsEndToEndTests {
    /// Runs `body` with a sender and a simulator, each with its own clock, because the clocks of
    /// server and provider may differ.
    private func withAPNs<Result: Sendable>(
        change: @Sendable (inout APNsSettings) -> Void = { _ in },
        _ body: @Sendable (APNsSender, APNsSimulator, _ ours: SetClock, _ theirs: SetClock) async throws -> Result
    ) async throws -> Result {
        try await withProvider { authority, connection, loop in
            let (ours, theirs) = (SetClock(Samples.now), SetClock(Samples.now))
            var options = SimulatorOptions()
            options.now = { theirs.now }
            let apns = try APNsSimulator(authority: authority, options: options)
            var settings = APNsSettings(
                key: Secret(apns.credentials.privateKey),
                keyID: apns.credentials.keyID,
                teamID: apns.credentials.teamID,
                topic: apns.credentials.topic,
                envelope: .background,
                endpoint: apns.endpoint,
                connection: connection
            )
            change(&settings)
            let sender = try APNsSender(settings, on: loop, now: { ours.now })
            return try await apns.whileRunning { apns in
                let result = try await body(sender, apns, ours, theirs)
                await sender.close()
                return result
            }
        }
    }

    @Test(arguments: [AppleEnvelope.background, .alert(AlertPlaceholder()), .voip])
    func aPushIsAcceptedAndCarriesTheIdAndNothingElse(envelope: AppleEnvelope) async throws {
        let push = try Samples.push(priority: .high, sharedCollapseID: "inbox")
        let (outcome, received) = try await self.withAPNs {
            $0.envelope = envelope
        } _: { sender, apns, _, _ in
            (await sender.outcome(of: push), apns.pushes.received)
        }
        #expect(outcome == .success(Acceptance(providerID: push.attemptID.uuidString.lowercased())))
        let request = try #require(received.first?.request)
        #expect(received.count == 1)
        let names = request.headers.map(\.name).filter { !$0.hasPrefix("apns-") }
        #expect(Set(names).subtracting(["authorization", "content-length"]).isEmpty)
        #expect(String(decoding: request.body, as: UTF8.self).hasSuffix(#""secureId":"7"}"#))
    }

    /// PushKit gives an app a separate token for calls. Apple refuses a call to a token for
    /// alerts, and an alert to PushKit's token.
    @Test(arguments: [
        (AppleEnvelope.voip, ".voip", true), (.voip, "", false), (.alert(AlertPlaceholder()), ".voip", false),
    ])
    func aTokenBelongsToTheTopicOfItsKind(envelope: AppleEnvelope, suffix: String, isAccepted: Bool) async throws {
        let push = try Samples.push()
        let outcome = try await self.withAPNs {
            $0.envelope = envelope
        } _: { sender, apns, _, _ in
            apns.devices.issue(push.handle, in: .production, topic: apns.credentials.topic + suffix)
            return await sender.outcome(of: push)
        }
        let accepted = SendOutcome.success(Acceptance(providerID: push.attemptID.uuidString.lowercased()))
        #expect(outcome == (isAccepted ? accepted : .failure(.deviceUnknown(reason: "DeviceTokenNotForTopic"))))
    }

    @Test func aCriticalAlertIsAccepted() async throws {
        let push = try Samples.push(priority: .high, alert: AlertSamples.text("critical", as: .interruptionLevel))
        let outcome = try await self.withAPNs {
            $0.envelope = .alert(AlertPlaceholder())
        } _: { sender, _, _, _ in
            await sender.outcome(of: push)
        }
        #expect(outcome == .success(Acceptance(providerID: push.attemptID.uuidString.lowercased())))
    }

    @Test func oneConnectionCarriesMoreThanAThousandPushes() async throws {
        let (accepted, connections) = try await self.withAPNs { sender, apns, _, _ in
            // The first push is sent alone: before the client knows the connection's capacity, it
            // may open a second connection.
            var accepted = try await sender.accepted(1) { _ in try Samples.push() }
            for _ in 0..<16 { accepted += try await sender.accepted(90) { _ in try Samples.push() } }
            return (accepted, Set(apns.pushes.received.map(\.request.connection)))
        }
        #expect(accepted == 1441)
        #expect(connections == [1])
    }

    @Test func aRetiredDeviceIsGoneSinceApplesTime() async throws {
        let since = Samples.now - 1000
        let outcome = try await self.withAPNs { sender, apns, _, _ in
            apns.retire("ABCDEF0123456789", at: since)
            return await sender.outcome(of: try Samples.push())
        }
        #expect(outcome == .failure(.deviceGone(reason: "Unregistered", since: since)))
    }

    /// A reason for which the simulator itself refuses a push, as Apple does. So the test need not
    /// queue the refusal.
    enum Circumstance: CaseIterable {
        case otherEnvironment, otherApp, expiredToken, busyDevice, keyOfTheOtherEnvironment

        func arrange(_ apns: APNsSimulator, _ device: String) {
            let topic = apns.credentials.topic
            switch self {
            case .otherEnvironment: apns.devices.issue(device, in: .sandbox, topic: topic)
            case .otherApp: apns.devices.issue(device, in: .production, topic: topic + ".other")
            case .expiredToken: apns.expire(device, at: Samples.now - 9)
            case .busyDevice: apns.setLimitPerDevice(0)
            case .keyOfTheOtherEnvironment: apns.restrictKey(to: [.sandbox])
            }
        }

        var failure: SendFailure {
            switch self {
            case .otherEnvironment: .deviceUnknown(reason: "BadDeviceToken")
            case .otherApp: .deviceUnknown(reason: "DeviceTokenNotForTopic")
            case .expiredToken: .deviceGone(reason: "ExpiredToken", since: Samples.now - 9)
            case .busyDevice: .deviceBusy(reason: "TooManyRequests", retryAfter: .seconds(60))
            case .keyOfTheOtherEnvironment: .misconfigured(reason: "BadEnvironmentKeyIdInToken")
            }
        }
    }

    @Test(arguments: Circumstance.allCases)
    func eachRefusalOfADeviceOrKeyMapsToItsFailure(circumstance: Circumstance) async throws {
        let outcome = try await self.withAPNs { sender, apns, _, _ in
            circumstance.arrange(apns, "ABCDEF0123456789")
            return await sender.outcome(of: try Samples.push())
        }
        #expect(outcome == .failure(circumstance.failure))
    }

    @Test func theRetryAfterOfAnOverloadedProviderIsReported() async throws {
        let outcome = try await self.withAPNs { sender, apns, _, _ in
            let retryAfter = HeaderField("retry-after", "42")
            apns.pushes.answerNext(status: 503, headers: [retryAfter], body: #"{"reason":"ServiceUnavailable"}"#)
            return await sender.outcome(of: try Samples.push())
        }
        #expect(outcome == .failure(.overloaded(reason: "ServiceUnavailable", retryAfter: .seconds(42))))
    }

    /// Apple sometimes refuses a valid provider token, so the sender tries once more before it
    /// reports the refusal.
    @Test(arguments: [
        (1, 1300.0, 2, nil as SendFailure?), (1, 60, 1, nil),
        (2, 60, 1, .credentialRefused(reason: "InvalidProviderToken")),
    ])
    func refusedTokenIsSentOnceMoreAndReplacedIfOldEnough(
        refusals: Int,
        age: TimeInterval,
        tokens: Int,
        failure: SendFailure?
    ) async throws {
        let (outcome, requests) = try await self.withAPNs { sender, apns, ours, theirs in
            _ = await sender.outcome(of: try Samples.push())
            ours.advance(by: age)
            theirs.advance(by: age)
            for _ in 0..<refusals {
                apns.pushes.answerNext(status: 403, body: #"{"reason":"InvalidProviderToken"}"#)
            }
            return (await sender.outcome(of: try Samples.push()), apns.pushes.received.map(\.request))
        }
        #expect(requests.count == 3)
        #expect(Set(requests.map { $0.header("authorization") }).count == tokens)
        if let failure {
            #expect(outcome == .failure(failure))
        } else {
            #expect(throws: Never.self) { try outcome.get() }
        }
    }

    @Test func aForeignKeyIsRefusedTwice() async throws {
        let outcome = try await self.withAPNs {
            $0.key = Secret(P256.Signing.PrivateKey().pemRepresentation)
        } _: { sender, _, _, _ in
            await sender.outcome(of: try Samples.push())
        }
        #expect(outcome == .failure(.credentialRefused(reason: "InvalidProviderToken")))
    }

    @Test func anExpiredTokenIsReplacedOnceItIsTwentyMinutesOld() async throws {
        let (accepted, requests, outcome) = try await self.withAPNs { sender, apns, ours, theirs in
            _ = await sender.outcome(of: try Samples.push())
            ours.advance(by: 1300)
            theirs.advance(by: 3700)
            let accepted = try await sender.accepted(20) { try Samples.push(id: Int64($0)) }
            let tokens = Set(apns.pushes.received.compactMap { $0.request.header("authorization") })
            theirs.advance(by: 3700)
            return (accepted, tokens.count, await sender.outcome(of: try Samples.push()))
        }
        #expect(accepted == 20)
        #expect(requests == 2)
        let reason = "ExpiredProviderToken; this machine's clock is 102 minutes behind the provider's"
        #expect(outcome == .failure(.misconfigured(reason: reason)))
    }

    @Test func aThousandConcurrentPushesShareOneToken() async throws {
        let (accepted, received) = try await self.withAPNs { sender, apns, _, _ in
            (try await sender.accepted(1000) { try Samples.push(id: Int64($0)) }, apns.pushes.received)
        }
        #expect(accepted == 1000)
        #expect(Set(received.map(\.request.body)).count == 1000)
        #expect(received.count == 1000)
        #expect(Set(received.map { $0.request.header("authorization") }).count == 1)
    }

    @Test func aServerWithAnUntrustedCertificateGetsNothing() async throws {
        let (outcome, received) = try await self.withAPNs {
            $0.connection.caFile = nil
        } _: { sender, apns, _, _ in
            (await sender.outcome(of: try Samples.push()), apns.pushes.received)
        }
        guard case .failure(.unavailable(let reason, nil, _)) = outcome else {
            Issue.record("unexpected: \(outcome)")
            return
        }
        #expect(reason.hasPrefix("TLS failed"))
        #expect(received.isEmpty)
    }
}
